// A LibTorch module with the first weights of a run.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "model/registry.h"
#include "network/initial_weights.h"

namespace chargpt {

/// Over ids that stand for themselves: a pure function of (config, vocab_size, seed).
inline std::shared_ptr<LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size,
                                                 std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto model = make_module(config, vocab_size);
  const auto parameters = model->named_parameters();
  const Layers layers = layers_of(config, vocab_size);
  std::vector<float> values(static_cast<std::size_t>(layers.floats));
  draw_initial_weights(config, parameter_list(layers), seed, /*symbols=*/{}, values.data());
  for_each_parameter(layers, [&](const Parameter& parameter) {
    parameters[parameter.name].copy_(torch::from_blob(parameter.at(values.data()), parameter.shape));
  });
  return model;
}

}  // namespace chargpt
