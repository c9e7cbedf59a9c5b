// The figures of scripts/reference/updates.py, and parameters made by their formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "source_path.h"

namespace chargpt {

inline nlohmann::json golden_updates() {
  std::ifstream file(source_path("/tests/golden/updates.json"));
  return nlohmann::json::parse(file);
}

inline std::uint32_t golden_mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ (x >> 16);
}

/// The formula "weights" of the file, with offset 0 and scale 0.5, float32.
inline void fill_golden(std::span<float> values, std::uint32_t k) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(
        0.5 * (golden_mix(static_cast<std::uint32_t>(i) + 0x9e3779b9U * (k + 1)) / 2147483648.0 - 1));
}

/// Largest |got - expected|.
inline double distance(std::span<const float> got, const std::vector<double>& expected) {
  double largest = got.size() == expected.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(got[i]) - expected[i]));
  return largest;
}

}  // namespace chargpt
