#include "report/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

namespace chargpt {
namespace {

std::vector<double> finite_of(std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  return finite;
}

}  // namespace

std::string_view block_of(double share) {
  constexpr std::array<std::string_view, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return blocks[static_cast<std::size_t>(std::clamp(share * 8.0 + 0.5, 0.0, 8.0))];
}

std::string sparkline(std::span<const double> values, double top) {
  const std::vector<double> finite = finite_of(values);
  const double low = finite.empty() ? 0 : *std::ranges::min_element(finite);
  std::string line;
  for (const double value : values) {
    const double share = top > low ? std::clamp((value - low) / (top - low), 0.0, 1.0) : value > low ? 1 : 0;
    line += std::isfinite(value) ? block_of(1.0 / 8 + share * 7 / 8) : " ";
  }
  return line;
}

}  // namespace chargpt
