// Quantiles of measured values. Pure functions.
#pragma once

#include <utility>
#include <vector>

namespace chargpt {

/// Of values that are not empty, in any order: 0 for `q` is the least, 1 the largest, between two of them linear (type
/// 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages", 1996, as in R and NumPy).
double quantile(std::vector<double> values, double q);

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace chargpt
