// Keys of nanoGPT and of other trainers that mean nothing here, or have another name: what to use instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chargpt {

/// "the run folder is --run DIR", for the end of a message; none where the key is not one of theirs.
std::optional<std::string> replacement_of(std::string_view foreign_key);

}  // namespace chargpt
