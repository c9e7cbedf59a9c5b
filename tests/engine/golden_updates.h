// Parameters made by the formula of scripts/reference/updates.py, and how far they are from its figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "golden_weights.h"

namespace chargpt {

/// The formula "weights" of the file, with offset 0 and scale 0.5, float32.
inline void fill_golden(std::span<float> values, std::uint32_t k) {
  fill_by_formula(values, {{"k", k}, {"offset", 0.0}, {"scale", 0.5}});
}

/// Largest |got - expected|.
inline double distance(std::span<const float> got, const std::vector<double>& expected) {
  double largest = got.size() == expected.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(got[i]) - expected[i]));
  return largest;
}

}  // namespace chargpt
