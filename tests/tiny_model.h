// The smallest models that show what an arena and an engine must get right: shared weights, vectors and matrices,
// bfloat16.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>

#include "model/language_model.h"
#include "model_in_training.h"
#include "windows_of.h"

namespace chargpt {

/// Embedding -> LayerNorm -> Linear, with a head that is the embedding's own matrix: ids (B, T) -> logits (B, T, V).
class TiedModel : public LanguageModel {
 public:
  explicit TiedModel(const ModelConfig& config = {}, std::int64_t vocab_size = 7, std::int64_t width = 5)
      : LanguageModel(config, vocab_size) {
    const torch::NoGradGuard no_grad;
    wte = register_module("wte", torch::nn::Embedding(vocab_size, width));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    linear = register_module("linear", torch::nn::Linear(width, width));
    double phase = 0;  // weights from a formula: sin(1), sin(2), …
    for (torch::Tensor& parameter : parameters()) {
      parameter.copy_(
          torch::sin(torch::arange(1, parameter.numel() + 1, torch::kFloat32) + phase).view(parameter.sizes()));
      phase += 0.5;
    }
  }
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) override {
    if (context.dropout) last_key = *context.dropout;
    const torch::Tensor x = linear(norm(wte(ids)));  // (B, T) -> (B, T, C)
    last_dtype = x.scalar_type();
    return torch::matmul(x, wte->weight.t());  // (B, T, C) x (C, V) -> (B, T, V)
  }

  torch::nn::Embedding wte{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear linear{nullptr};
  DropoutKey last_key;
  torch::ScalarType last_dtype = torch::kFloat32;
};

/// Windows of ids that follow a formula, different for each `index`.
inline WindowBatch formula_batch(std::int64_t index, std::int64_t rows, std::int64_t block_size,
                                 std::int64_t vocab_size) {
  const torch::Tensor ids = (torch::arange(rows * (block_size + 1), torch::kInt64) * 5 + index * 3)
                                .remainder(vocab_size)
                                .view({rows, block_size + 1});
  return windows_of(ids);
}

}  // namespace chargpt
