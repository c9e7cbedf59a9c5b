// The masked dot-product model: a token attends to the tokens before it that look like itself, with nothing learned
// about what to look for and no scale.
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "model/language_model.h"

namespace chargpt {

/// Parameters: `wte.weight` (V, C), `wpe.weight` (block_size, C), `lm_head.weight` (V, C), `lm_head.bias` (V).
class MaskedModel : public LanguageModel {
 public:
  MaskedModel(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) override;

 private:
  torch::nn::Embedding wte_{nullptr}, wpe_{nullptr};
  torch::nn::Linear lm_head_{nullptr};
};

}  // namespace chargpt
