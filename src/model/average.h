// The averaging model: a token is the mean of what it may see, all weighted alike. With `causal` false it is the
// teaching version that looks ahead, even at its own target: its loss means nothing.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "model/language_model.h"

namespace chargpt {

/// Parameters: `wte.weight` (V, C), `lm_head.weight` (V, C), `lm_head.bias` (V).
class AverageModel : public LanguageModel {
 public:
  AverageModel(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) override;

 private:
  torch::nn::Embedding wte_{nullptr};
  torch::nn::Linear lm_head_{nullptr};
};

}  // namespace chargpt
