// One layer of causal self-attention between embedding and head: the masked model with learned queries, keys and
// values, in one or many heads. No residual, no normalisation and no feed-forward layer: those are what gpt adds.
#pragma once

#include <torch/nn/modules/linear.h>

#include "model/language_model.h"
#include "model/layers.h"

namespace chargpt {

/// Parameters: `wte.weight` (V, C), `wpe.weight` (block_size, C) if positions are learned, `attn` as
/// CausalSelfAttention, `lm_head.weight` (V, C), `lm_head.bias` (V).
class AttentionModel : public LanguageModel {
 public:
  AttentionModel(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) override;

 private:
  InputEmbedding embedding_;
  CausalSelfAttention attn_{nullptr};
  torch::nn::Linear lm_head_{nullptr};
};

}  // namespace chargpt
