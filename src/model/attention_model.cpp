#include "model/attention_model.h"

namespace chargpt {

AttentionModel::AttentionModel(const ModelConfig& config, std::int64_t vocab_size)
    : LanguageModel(config, vocab_size), embedding_(*this, config, vocab_size) {
  attn_ = register_module("attn", CausalSelfAttention(config));
  lm_head_ = register_module("lm_head", torch::nn::Linear(config.n_embd, vocab_size));
}

torch::Tensor AttentionModel::forward(const torch::Tensor& ids, const ForwardContext& context) {
  check_input(ids, context);
  ForwardPass pass(context, ids);
  const torch::Tensor x = attn_(embedding_(ids, pass), pass);  // (B, T) -> (B, T, C)
  return lm_head_(x);                                          // (B, T, C) -> (B, T, V)
}

}  // namespace chargpt
