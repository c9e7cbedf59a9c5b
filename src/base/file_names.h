// What the names of files and folders tell. Knows no kind of file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace chargpt {

/// One decimal digit or more, and nothing else.
inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "; did you mean texts/book.txt?": the entry of its folder whose name is nearest (see nearest_name); empty where
/// there is none, or the folder cannot be read.
std::string nearest_entry(const std::filesystem::path& missing);

/// Without a slash at its end, so that it has a name. What stands before ".." may be a link, so only the system
/// resolves it.
std::filesystem::path without_final_slash(const std::filesystem::path& path);

/// What a file or folder is called: the last name of its path, or, where that is "." or "..", of what the system finds
/// there.
std::string name_of_path(const std::filesystem::path& path);

/// The file that was being written whole (base/files.h) under this name when a process ended. Of
/// ".chargpt-PROCESS-NUMBER.tmp" an empty name; of ".NAME.tmp-PROCESS-NUMBER", as earlier versions called it, NAME.
/// None for any other name.
std::optional<std::string> unfinished_file_of(std::string_view name);

}  // namespace chargpt
