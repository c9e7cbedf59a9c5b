// Quantiles of measurements. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace chargpt {

/// The quantile `q` (0 to 1: minimum to maximum) of `values`, which must not be empty and may be in any order.
/// Interpolates linearly: type 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages", 1996, as in R and NumPy.
inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace chargpt
