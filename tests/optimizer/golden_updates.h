// The figures of scripts/reference/updates.py, and parameters made by their formula.
#pragma once

#include <torch/types.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "parameters/arena.h"
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
inline torch::Tensor golden_weights(torch::IntArrayRef shape, std::uint32_t k) {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat32);
  float* const values = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    values[i] = static_cast<float>(
        0.5 * (golden_mix(static_cast<std::uint32_t>(i) + 0x9e3779b9U * (k + 1)) / 2147483648.0 - 1));
  return tensor;
}

/// Largest |got - expected|.
inline double distance(const torch::Tensor& got, const nlohmann::json& expected) {
  const torch::Tensor wanted = torch::tensor(expected.get<std::vector<double>>(), torch::kDouble);
  return (got.flatten().to(torch::kDouble) - wanted).abs().max().item<double>();
}

}  // namespace chargpt
