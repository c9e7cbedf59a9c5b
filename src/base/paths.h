// What paths lead to, are called and may have been meant for. Knows no kind of file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace chargpt {

// What is there, links followed; false where that cannot be told.
bool is_there(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);  ///< a regular one
bool is_folder(const std::filesystem::path& path);

/// One decimal digit or more, and nothing else.
inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "; did you mean texts/book.txt?": the entry of its folder whose name is nearest (see nearest_name); empty where
/// there is none, or the folder cannot be read.
std::string nearest_entry(const std::filesystem::path& missing);

/// Where the last name of a path is: its parent; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Without a slash at its end, so that it has a name. What stands before ".." may be a link, so only the system
/// resolves it.
std::filesystem::path without_final_slash(const std::filesystem::path& path);

/// What a file or folder is called: the last name of its path, or, where that is "." or "..", of what the system finds
/// there.
std::string name_of_path(const std::filesystem::path& path);

/// ".chargpt-PROCESS-NUMBER.tmp": what was being written whole (base/files.h) when a process ended.
bool is_unfinished_file(std::string_view name);

}  // namespace chargpt
