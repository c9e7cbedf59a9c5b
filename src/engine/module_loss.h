// The loss of a model's modules, as LibTorch computes it on any device: what the engines built on autograd share.
#pragma once

#include <ATen/core/Reduction.h>
#include <torch/types.h>

#include "engine/engine.h"

namespace chargpt {

/// Where the parameters lie.
torch::Device device_of(const ParameterArena& arena);

/// Nats of the targets (B, T) under the model's logits for the inputs (B, T), in float32: (B*T), or their mean.
torch::Tensor cross_entropy(LanguageModel& model, const torch::Tensor& inputs, const torch::Tensor& targets,
                            const ForwardContext& context, at::Reduction::Reduction reduction);

/// Of 0-d tensors, in one transfer: the only wait for the device in a step.
Gradients read_gradients(const torch::Tensor& loss, const torch::Tensor& norm);

}  // namespace chargpt
