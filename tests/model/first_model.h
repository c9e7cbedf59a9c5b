// A LibTorch module with the first weights of a run.
#pragma once

#include <torch/types.h>

#include <memory>
#include <span>
#include <string>

#include "model/registry.h"
#include "network/initial_weights.h"

namespace chargpt {

/// Over ids that stand for themselves: a pure function of (config, vocab_size, seed).
inline std::shared_ptr<LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size,
                                                 std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  auto model = make_module(config, vocab_size);
  const auto parameters = model->named_parameters();
  draw_initial_weights(config, vocab_size, seed, /*symbols=*/{}, [&](const std::string& name) {
    const torch::Tensor& parameter = parameters[name];
    return std::span(parameter.mutable_data_ptr<float>(), static_cast<std::size_t>(parameter.numel()));
  });
  return model;
}

}  // namespace chargpt
