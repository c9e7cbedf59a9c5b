// Compiled with -ffp-contract=off, as base/normal.cpp is.
#include "parameters/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "base/normal.h"
#include "base/random.h"

namespace chargpt {
namespace {

/// Its output is added to the residual stream.
bool ends_branch(const ModelConfig& config, const ParameterInfo& parameter) {
  return config.type == "gpt" && parameter.name.ends_with(".c_proj.weight");
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

InitialWeights::InitialWeights(const ModelConfig& config, std::uint64_t seed, std::vector<std::string> symbols)
    : config_(config), seed_(seed), symbols_(std::move(symbols)) {}

/// 2 L branches are summed into the residual stream: scaled keeps its variance near that of one.
double InitialWeights::residual_std() const {
  switch (config_.residual_init) {
    case ResidualInit::scaled:
      return config_.init_std / std::sqrt(2.0 * static_cast<double>(config_.n_layer));
    case ResidualInit::zero:
      return 0;
    case ResidualInit::plain:
      return config_.init_std;
  }
  return config_.init_std;
}

template <class Draw>
void InitialWeights::draw(const ParameterInfo& parameter, std::span<float> values, const Draw& number) const {
  const std::size_t rows = parameter.counts_symbols ? static_cast<std::size_t>(parameter.shape[0]) : 1;
  const std::size_t width = values.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string key = parameter.name;
    if (parameter.counts_symbols) key += "\n" + (symbols_.empty() ? "#" + std::to_string(row) : symbols_.at(row));
    RandomStream random(seed_, Purpose::initialisation, hash_of(key));
    for (float& value : values.subspan(row * width, width)) value = static_cast<float>(number(random.next()));
  }
}

void InitialWeights::fill(const ParameterInfo& parameter, std::int64_t fan_in, std::span<float> values) const {
  std::ranges::fill(values, parameter.role == ParameterRole::gain ? 1.0F : 0.0F);
  const auto normal = [&](double std) {
    if (std > 0) draw(parameter, values, [std](std::uint32_t bits) { return std * normal_of(bits); });
  };
  const bool embedding = parameter.role == ParameterRole::embedding, matrix = parameter.role == ParameterRole::matrix;
  const bool bias = parameter.role == ParameterRole::bias && parameter.place != Place::norm;
  if (config_.init == Init::gpt2 && (embedding || matrix))
    normal(ends_branch(config_, parameter) ? residual_std() : config_.init_std);
  if (config_.init == Init::pytorch && embedding) normal(1);
  if (config_.init == Init::pytorch && (matrix || bias)) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    draw(parameter, values, [bound](std::uint32_t bits) { return bound * ((bits + 0.5) * 0x1p-31 - 1); });
  }
}

/// Of the layer that a bias belongs to, the width of its weight; of the head, tied or not, that of the embedding.
std::int64_t InitialWeights::fan_in(const std::vector<ParameterInfo>& parameters, const ParameterInfo& parameter) {
  if (!parameter.name.ends_with(".bias")) return parameter.shape.back();
  const std::string layer = parameter.name.substr(0, parameter.name.size() - std::string(".bias").size());
  const auto is_weight = [&](const ParameterInfo& other) { return other.name == layer + ".weight"; };
  const auto weight = std::ranges::find_if(parameters, is_weight);
  return weight != parameters.end() ? weight->shape.back() : parameters.front().shape.back();
}

}  // namespace chargpt
