// Which files data.text stands for: files, folders, standard input. Settled once, in a fixed order, before
// anything is read as a text. Knows no character and no id.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/config.h"

namespace chargpt {

/// Standard input in data.text; a file of that name is "./-".
inline constexpr std::string_view standard_input_name = "-";

/// What one name of data.text is. pipe: readable, but only once and of no known size.
CHARGPT_ENUM(TextKind, sample, standard_input, file, pipe, folder);

/// A regular file of a text. `name` is that below the folder it was found in, or its path where it was named itself.
struct ListedFile {
  std::filesystem::path name;
  std::uint64_t bytes = 0;
  bool operator==(const ListedFile&) const = default;
};

/// One name of data.text and what it stands for.
struct ListedText {
  std::filesystem::path name;  ///< as it was given, or where it was found
  TextKind kind = TextKind::file;
  std::vector<ListedFile> files = {};  ///< of a folder by the bytes of their names, else one or none
  bool is_folder() const { return kind == TextKind::folder; }
  std::filesystem::path path_of(const ListedFile& file) const { return is_folder() ? name / file.name : file.name; }
};

/// The whole of data.text.
struct TextListing {
  std::vector<ListedText> texts = {};
  std::vector<std::string> notices = {};  ///< what was left out, what is there twice
  /// Files, pipes and the like that are read.
  std::int64_t files() const;
  /// Of all regular files together.
  std::uint64_t bytes() const;
  /// Whether all of it can be read again later.
  bool repeatable() const;
  /// Names of the texts.
  std::vector<std::string> names() const;
};

/// Most files of one folder, and most entries that are looked at to find them.
struct ListingLimits {
  std::int64_t files = 100'000, entries = 1'000'000;
};

/// Looks up what `names` stand for: a file, pipe or device; a folder, which is all texts in it and in its folders; "-";
/// the built-in sample. Of folders, hidden files and folders are left out, links to folders and folders of runs not
/// followed, and files that do not begin as UTF-8 text (in units of characters), pipes and the like are left out with a
/// notice. Errors: usage for no names, an empty one, or a run; missing for what is not there and a folder without
/// files; data for one without texts, or more than `limits`; io for what cannot be read.
TextListing list_texts(const Strings& names, Units units, const ListingLimits& limits = {});

/// "mine.txt", "book" (of "data/book/"), "standard input": one text's name where there is little room.
std::string short_text_name(const std::string& name);

/// "a, b, c and 4 more".
std::string some_of(const std::vector<std::string>& names);

}  // namespace chargpt
