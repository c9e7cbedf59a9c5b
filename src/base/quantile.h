// Quantiles of measured values. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace chargpt {

/// Of values that are not empty, in any order: 0 for `q` is the least, 1 the largest, between two of them linear (type
/// 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages", 1996, as in R and NumPy).
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
