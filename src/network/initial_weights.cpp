// Compiled with -ffp-contract=off, like base/random.cpp.
#include "network/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace chargpt {
namespace {

/// True if the output of this layer is added to the residual stream.
bool ends_branch(const ModelConfig& config, const Parameter& parameter) {
  return config.type == "gpt" && parameter.name.ends_with(".c_proj.weight");
}

/// The sum of 2 L branches is added to the residual stream; `scaled` keeps its variance near that of one branch.
double residual_std(const ModelConfig& config) {
  if (config.residual_init == ResidualInit::zero) return 0;
  if (config.residual_init == ResidualInit::plain) return config.init_std;
  return config.init_std / std::sqrt(2.0 * static_cast<double>(config.n_layer));
}

/// The FNV-1a hash.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

void draw_initial_weights(const ModelConfig& config, std::span<const Parameter> parameters, std::uint64_t seed,
                          const std::vector<std::string>& symbols, float* buffer) {
  const auto draw = [&](const Parameter& parameter, std::span<float> values, const auto& number) {
    const std::size_t rows = parameter.counts_symbols ? static_cast<std::size_t>(parameter.shape[0]) : 1;
    const std::size_t width = values.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
      std::string key = parameter.name;
      if (parameter.counts_symbols) key += "\n" + (symbols.empty() ? "#" + std::to_string(row) : symbols.at(row));
      RandomStream random(seed, Purpose::initialisation, hash_of(key));
      for (float& value : values.subspan(row * width, width)) value = static_cast<float>(number(random.next()));
    }
  };
  for (const Parameter& parameter : parameters) {
    const std::span<float> values = parameter.in(buffer);
    std::ranges::fill(values, parameter.role == ParameterRole::gain ? 1.0F : 0.0F);
    const auto draw_normal = [&](double deviation) {
      if (deviation > 0) draw(parameter, values, [=](std::uint32_t bits) { return deviation * normal_of(bits); });
    };
    const bool embedding = parameter.role == ParameterRole::embedding, linear = parameter.fan_in > 0;
    if (config.init == Init::gpt2 && (embedding || parameter.role == ParameterRole::matrix))
      draw_normal(ends_branch(config, parameter) ? residual_std(config) : config.init_std);
    if (config.init == Init::pytorch && embedding) draw_normal(1);
    if (config.init == Init::pytorch && linear) {
      const double bound = 1 / std::sqrt(static_cast<double>(parameter.fan_in));
      draw(parameter, values, [bound](std::uint32_t bits) { return bound * ((bits + 0.5) * 0x1p-31 - 1); });
    }
  }
}

}  // namespace chargpt
