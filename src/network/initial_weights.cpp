// Compiled with -ffp-contract=off, as base/random.cpp is.
#include "network/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "network/parameter_list.h"

namespace chargpt {
namespace {

/// Its output is added to the residual stream.
bool ends_branch(const ModelConfig& config, const ParameterInfo& parameter) {
  return config.type == "gpt" && parameter.name.ends_with(".c_proj.weight");
}

/// 2 L branches are summed into the residual stream: scaled keeps its variance near that of one.
double residual_std(const ModelConfig& config) {
  if (config.residual_init == ResidualInit::zero) return 0;
  if (config.residual_init == ResidualInit::plain) return config.init_std;
  return config.init_std / std::sqrt(2.0 * static_cast<double>(config.n_layer));
}

/// Of the layer that a bias belongs to, the width of its weight; of the head, tied or not, that of the embedding.
std::int64_t fan_in(const std::vector<ParameterInfo>& parameters, const ParameterInfo& parameter) {
  if (!parameter.name.ends_with(".bias")) return parameter.shape.back();
  const std::string layer = parameter.name.substr(0, parameter.name.size() - std::string(".bias").size());
  const auto weight = std::ranges::find(parameters, layer + ".weight", &ParameterInfo::name);
  return weight != parameters.end() ? weight->shape.back() : parameters.front().shape.back();
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

void draw_initial_weights(const ModelConfig& config, std::int64_t vocab_size, std::uint64_t seed,
                          const std::vector<std::string>& symbols,
                          const std::function<std::span<float>(const std::string& parameter)>& values_of) {
  const auto draw = [&](const ParameterInfo& parameter, std::span<float> values, const auto& number) {
    const std::size_t rows = parameter.counts_symbols ? static_cast<std::size_t>(parameter.shape[0]) : 1;
    const std::size_t width = values.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
      std::string key = parameter.name;
      if (parameter.counts_symbols) key += "\n" + (symbols.empty() ? "#" + std::to_string(row) : symbols.at(row));
      RandomStream random(seed, Purpose::initialisation, hash_of(key));
      for (float& value : values.subspan(row * width, width)) value = static_cast<float>(number(random.next()));
    }
  };
  const std::vector<ParameterInfo> parameters = parameter_list(config, vocab_size);
  for (const ParameterInfo& parameter : parameters) {
    const std::span<float> values = values_of(parameter.name);
    std::ranges::fill(values, parameter.role == ParameterRole::gain ? 1.0F : 0.0F);
    const auto draw_normal = [&](double deviation) {
      if (deviation > 0) draw(parameter, values, [=](std::uint32_t bits) { return deviation * normal_of(bits); });
    };
    const bool embedding = parameter.role == ParameterRole::embedding, matrix = parameter.role == ParameterRole::matrix;
    const bool bias = parameter.role == ParameterRole::bias && parameter.place != Place::norm;
    if (config.init == Init::gpt2 && (embedding || matrix))
      draw_normal(ends_branch(config, parameter) ? residual_std(config) : config.init_std);
    if (config.init == Init::pytorch && embedding) draw_normal(1);
    if (config.init == Init::pytorch && (matrix || bias)) {
      const double bound = 1 / std::sqrt(static_cast<double>(fan_in(parameters, parameter)));
      draw(parameter, values, [bound](std::uint32_t bits) { return bound * ((bits + 0.5) * 0x1p-31 - 1); });
    }
  }
}

}  // namespace chargpt
