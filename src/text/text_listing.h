// The files that data.text names: files, folders, standard input, the built-in sample. They are looked up once, in a
// fixed order, before any of them is read as a text. Independent of vocabularies and ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// Standard input in data.text; a file of that name is "./-".
inline constexpr std::string_view standard_input_name = "-";
/// The small text built into the program, for users who have no text at hand; a file of that name is
/// "./builtin:sample".
inline constexpr std::string_view sample_text_name = "builtin:sample";
/// One file of a text. `path` is the name in data.text for standard input and the built-in sample.
struct TextFile {
  std::filesystem::path path;
  bool once = false;        ///< standard input, a pipe or a device: it can be read only once and its size is unknown
  std::uint64_t bytes = 0;  ///< of a regular file; of any, once it is read
  std::uint64_t crc64 = 0;  ///< of its bytes, once it is read
};

/// The whole of data.text.
struct TextListing {
  std::vector<std::string> names = {};     ///< as data.text gave them, or where they were found
  std::vector<TextFile> files = {};        ///< in the order they are read; of a folder by the bytes of their names
  std::vector<std::string> notices = {};   ///< files that were left out or are named twice
  std::vector<std::string> left_out = {};  ///< of folders, each with the reason: "cover.png (a PNG picture)"
  /// Of all regular files together.
  std::uint64_t bytes() const;
  /// Whether all of it can be read again later.
  bool repeatable() const;
};

/// Looks up each name: a file, pipe or device; a folder, which stands for all texts in it and its subfolders; "-"; the
/// built-in sample. In a folder, hidden files and folders are skipped. Links to folders, runs, models, pipes and files
/// that do not begin as UTF-8 text (in units of characters) are left out with a notice. Errors: usage for no name, an
/// empty name, or a run; missing for a name that does not exist and a folder without files; data for a folder without
/// texts or with more than `most_entries` files and folders; io where reading fails.
TextListing list_texts(const Strings& names, Units units, std::int64_t most_entries = 1'000'000);

/// "mine.txt", "book" (of "data/book/"), "standard input": one text's name where there is little room.
std::string short_text_name(const std::string& name);

}  // namespace chargpt
