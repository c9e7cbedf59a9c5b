// The softmax bigram model: a table of what follows what, factorised through an embedding. The bottom rung of the
// ladder.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "model/language_model.h"

namespace chargpt {

/// Parameters: `wte.weight` (V, C), `lm_head.weight` (V, C), `lm_head.bias` (V).
class BigramModel : public LanguageModel {
 public:
  BigramModel(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) override;

 private:
  torch::nn::Embedding wte_{nullptr};
  torch::nn::Linear lm_head_{nullptr};
};

}  // namespace chargpt
