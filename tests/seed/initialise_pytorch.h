// First weights as PyTorch's own constructors draw them, from a generator that is passed in: what the notebook's stream
// begins with.
#pragma once

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "model/layers.h"

namespace chargpt::seed {

/// PyTorch's Linear.reset_parameters: kaiming_uniform(a = sqrt 5), written as PyTorch computes it so that not even the
/// last bit of the bound differs, then the bias.
inline void reset_linear(const torch::Tensor& weight, const torch::Tensor& bias, std::int64_t fan_in,
                         const at::Generator& generator) {
  const double in = static_cast<double>(fan_in);
  const double gain = std::sqrt(2.0 / (1.0 + std::pow(std::sqrt(5.0), 2)));
  const double weight_bound = std::sqrt(3.0) * (gain / std::sqrt(in));
  const double bias_bound = 1.0 / std::sqrt(in);
  if (weight.defined()) weight.uniform_(-weight_bound, weight_bound, generator);
  if (bias.defined()) bias.uniform_(-bias_bound, bias_bound, generator);
}

/// Every module once, parents before children, in the order of registration.
inline void initialise_pytorch(torch::nn::Module& module, const at::Generator& generator) {
  const torch::NoGradGuard no_grad;
  if (auto* embedding = module.as<torch::nn::EmbeddingImpl>()) embedding->weight.normal_(0.0, 1.0, generator);
  if (auto* linear = module.as<torch::nn::LinearImpl>())
    reset_linear(linear->weight, linear->bias, linear->options.in_features(), generator);
  if (auto* head = module.as<HeadImpl>()) reset_linear(head->weight, head->bias, head->n_embd, generator);
  if (auto* norm = module.as<NormLayerImpl>()) norm->reset_parameters();
  for (const auto& child : module.children()) initialise_pytorch(*child, generator);
}

}  // namespace chargpt::seed
