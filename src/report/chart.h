// Curves, and the round values along their axes. Does not know what the numbers mean.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace chargpt {

struct Curve {
  std::string name;                               ///< curves of one name share one entry of the legend
  std::vector<std::pair<double, double>> points;  ///< x rising; a point that is not finite breaks the line
};

/// About `count` round values (1, 2 or 5 times a power of ten apart) that lie in [low, high]. Needs low < high.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace chargpt
