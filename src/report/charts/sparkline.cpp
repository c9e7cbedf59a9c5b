#include "report/charts/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace chargpt {

std::string_view block_of(double share) {
  constexpr std::array<std::string_view, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return blocks[static_cast<std::size_t>(std::clamp(share * 8.0 + 0.5, 0.0, 8.0))];
}

std::string sparkline(std::span<const double> values, double top) {
  double low = std::numeric_limits<double>::infinity();
  for (const double value : values)
    if (std::isfinite(value)) low = std::min(low, value);
  std::string line;
  for (const double value : values) {
    const double share = top > low ? std::clamp((value - low) / (top - low), 0.0, 1.0) : value > low ? 1 : 0;
    line += std::isfinite(value) ? block_of(1.0 / 8 + share * 7 / 8) : " ";
  }
  return line;
}

}  // namespace chargpt
