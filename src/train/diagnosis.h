// What a person needs to know to find out why a step went wrong, in words. Knows no policy and no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parameters/arena.h"

namespace chargpt {

/// Norm of one parameter's gradient.
struct GradientNorm {
  std::string name;
  double norm = 0;
};

/// Norms of the gradients that the last step left in the arena, worst first: NaN, infinite, then the largest.
std::vector<GradientNorm> gradient_norms(const ParameterArena& arena);

/// "its windows start at 12, 99, … of the train split; largest gradient norms: NAME 3e+20, …". The first 16 windows and
/// the 4 worst norms are named.
std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena);

}  // namespace chargpt
