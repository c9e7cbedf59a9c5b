#include "model/bigram.h"

namespace chargpt {

BigramModel::BigramModel(const ModelConfig& config, std::int64_t vocab_size) : LanguageModel(config, vocab_size) {
  wte_ = register_module("wte", torch::nn::Embedding(vocab_size, config.n_embd));
  lm_head_ = register_module("lm_head", torch::nn::Linear(config.n_embd, vocab_size));
}

torch::Tensor BigramModel::forward(const torch::Tensor& ids, const ForwardContext& context) {
  check_input(ids, context);
  return lm_head_(wte_(ids));  // (B, T) -> (B, T, C) -> (B, T, V)
}

}  // namespace chargpt
