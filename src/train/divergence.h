// What a user needs to know about a step that diverged. Independent of schedule and clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/arena.h"

namespace chargpt {

/// "its windows start at 12, 99, … of the train split; largest gradient norms: NAME 3e+20, …": at most 16 windows, and
/// the 4 worst norms of the last step: NaN, infinite, then by size.
std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena);

}  // namespace chargpt
