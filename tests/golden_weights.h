// Golden files, the formula by which scripts/reference makes weights and texts for them, and the options of their
// models.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "config/describe.h"
#include "source_path.h"

namespace chargpt {

/// golden_figures("models"): what is in tests/golden/models.json.
inline nlohmann::json golden_figures(const std::string& name) {
  std::ifstream file(source_path("/tests/golden/" + name + ".json"));
  return nlohmann::json::parse(file);
}

inline std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ x >> 16;
}

/// A parameter's values; `row` says which number it has, and around what and how far they lie.
inline void fill_by_formula(std::span<float> values, const nlohmann::json& row) {
  const double offset = row.at("offset"), scale = row.at("scale");
  const std::uint32_t first = 0x9e3779b9U * (row.at("k").get<std::uint32_t>() + 1);
  for (std::uint32_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(offset + scale * (mix(i + first) / 2147483648.0 - 1));
}

inline ModelConfig golden_config(const nlohmann::json& options) {
  Config config;
  for (const OptionInfo& option : option_table())
    if (option.section == "model" && options.contains(option.name)) option.set(config, options.at(option.name));
  return config.model;
}

}  // namespace chargpt
