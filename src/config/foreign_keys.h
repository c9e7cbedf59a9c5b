// Keys of nanoGPT and other trainers that have no meaning or another name here, and what to use instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace chargpt {

/// "the run folder is --run DIR", for the end of a message; none if the key is not one of theirs.
std::optional<std::string> replacement_of(std::string_view foreign_key);

}  // namespace chargpt
