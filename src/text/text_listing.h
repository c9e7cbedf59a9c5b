// Lists the files that data.text names: files, folders, standard input, the built-in sample. Each name is looked up
// once, in a fixed order, before any text is read. Independent of vocabularies and ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// The name of standard input in data.text; "./-" names a file "-".
inline constexpr std::string_view standard_input_name = "-";
/// The name of the small text built into the program, for users who have no text at hand; "./builtin:sample" names a
/// file.
inline constexpr std::string_view sample_text_name = "builtin:sample";
/// One file of a text. For standard input and the built-in sample, `path` is the name in data.text.
struct TextFile {
  std::filesystem::path path;
  bool once = false;        ///< standard input, a pipe or a device: readable only once, and of unknown size
  std::uint64_t bytes = 0;  ///< size; 0 until it is known
  std::uint64_t crc64 = 0;  ///< of the bytes, once they are read
};

/// All files of data.text.
struct TextListing {
  std::vector<std::string> names = {};     ///< as given in data.text, or the paths where they were found
  std::vector<TextFile> files = {};        ///< in reading order; those of a folder sorted by name, byte by byte
  std::vector<std::string> notices = {};   ///< files that were left out
  std::vector<std::string> left_out = {};  ///< files of folders, each with the reason: "cover.png (a PNG picture)"
  /// The total size of all regular files.
  std::uint64_t bytes() const;
  /// Whether all files can be read again later.
  bool repeatable() const;
};

/// Looks up each name: a file, pipe or device; a folder, which stands for all texts in it and its subfolders; "-"; or
/// the built-in sample. In folders, skips hidden files and folders. Leaves out, with a notice, links to folders, runs,
/// models, pipes and, in units of characters, files that do not begin as UTF-8 text. Errors: usage for no name, an
/// empty name or a run; missing for a name that does not exist or a folder without files; data for a folder without
/// texts or with more than a million entries; io if reading fails.
TextListing list_texts(const Strings& names, Units units);

/// A short name of a text for narrow columns: "mine.txt", "book" (for "data/book/"), "standard input".
std::string short_text_name(const std::string& name);

}  // namespace chargpt
