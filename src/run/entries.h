// What a folder holds, by name. Knows no run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace chargpt {

/// In ascending order; none where there is no such folder, or something else. Error io where it cannot be read.
std::vector<std::string> entries_of(const std::filesystem::path& folder);

}  // namespace chargpt
