// What is known of each update rule before any is applied: what it keeps of a parameter, and which parameters it takes.
// The rules themselves are in optimizer/.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace chargpt {

/// What a rule keeps of each parameter between updates.
struct MomentsKept {
  bool first = false, second = false;
};
MomentsKept moments_kept(UpdateRule rule);

/// The rule can update parameters of so many dimensions.
bool updates_dimensions(UpdateRule rule, std::int64_t dimensions);

}  // namespace chargpt
