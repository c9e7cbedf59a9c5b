// What may have been meant by the path of a file that is not there. Knows no kind of file.
#pragma once

#include <filesystem>
#include <string>

namespace chargpt {

/// "; did you mean texts/book.txt?": the entry of its folder whose name is nearest (see nearest_name); empty where
/// there is none, or the folder cannot be read.
std::string nearest_entry(const std::filesystem::path& missing);

}  // namespace chargpt
