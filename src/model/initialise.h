// First weights. Randomness is passed in; modules are walked in the order of registration.
#pragma once

#include <ATen/core/Generator.h>
#include <torch/nn/module.h>

#include "config/config.h"

namespace chargpt {

/// PyTorch's defaults: embeddings N(0, 1); linear weight and bias uniform on +-1/sqrt(in); norms 1 and 0. With a
/// generator of equal seed the draws are those of PyTorch's own constructors in the same order.
void initialise_pytorch(torch::nn::Module& module, at::Generator generator);

/// GPT-2's: linear and embedding weights N(0, std), biases 0, norms 1 and 0; layers that end a residual branch as
/// `residual` says (scaled: std / sqrt(2 n_layer)). Source: Radford et al. 2019, nanoGPT.
void initialise_gpt2(torch::nn::Module& module, const ModelConfig& config, at::Generator generator);

}  // namespace chargpt
