// What a path is called, and what may have been meant by one that leads nowhere. Knows no kind of file.
#pragma once

#include <filesystem>
#include <string>

namespace chargpt {

/// "; did you mean texts/book.txt?": the entry of its folder whose name is nearest (see nearest_name); empty where
/// there is none, or the folder cannot be read.
std::string nearest_entry(const std::filesystem::path& missing);

/// What a file or folder is called: the last name of its path, or, where that is "." or "..", of what the system finds
/// there.
std::string name_of_path(const std::filesystem::path& path);

}  // namespace chargpt
