// Which files data.text stands for: files, folders, standard input. Settled once, in a fixed order, before
// anything is read as a text. Knows no character and no id.
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
/// pipe: readable, but only once and of no known size.
enum class TextKind { sample, standard_input, file, pipe };

/// What is read from front to back. `path` is the name in data.text where that is no path.
struct TextFile {
  std::filesystem::path path;
  TextKind kind = TextKind::file;
  std::uint64_t bytes = 0;  ///< of a regular file
};

TextFile regular_file(const std::filesystem::path& path);

/// The whole of data.text.
struct TextListing {
  std::vector<std::string> names = {};    ///< as data.text gave them, or where they were found
  std::vector<TextFile> files = {};       ///< in the order they are read; of a folder by the bytes of their names
  std::vector<std::string> notices = {};  ///< what was left out, what is there twice
  /// Of all regular files together.
  std::uint64_t bytes() const;
  /// Whether all of it can be read again later.
  bool repeatable() const;
};

/// Looks up what `names` stand for: a file, pipe or device; a folder, which is all texts in it and in its folders; "-";
/// the built-in sample. Of folders, hidden files and folders are left out, links to folders, runs and models not
/// followed, and files that do not begin as UTF-8 text (in units of characters), pipes and the like are left out with a
/// notice. Errors: usage for no names, an empty one, or a run; missing for what is not there and a folder without
/// files; data for one without texts, or more than `most_entries` files and folders; io for what cannot be read.
TextListing list_texts(const Strings& names, Units units, std::int64_t most_entries = 1'000'000);

/// "mine.txt", "book" (of "data/book/"), "standard input": one text's name where there is little room.
std::string short_text_name(const std::string& name);

}  // namespace chargpt
