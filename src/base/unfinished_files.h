// The names of files that were being written whole (base/files.h) when a process ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chargpt {

/// Of ".chargpt-PROCESS-NUMBER.tmp" an empty name; of ".NAME.tmp-PROCESS-NUMBER", as earlier versions called it, NAME.
/// None for any other name.
std::optional<std::string> unfinished_file_of(std::string_view name);

}  // namespace chargpt
