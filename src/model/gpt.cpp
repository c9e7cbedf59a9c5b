#include "model/gpt.h"

namespace chargpt {

using torch::Tensor;

TransformerImpl::TransformerImpl(const ModelConfig& config, std::int64_t vocab_size)
    : embedding(*this, config, vocab_size) {
  h = register_module("h", torch::nn::ModuleList());
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) h->push_back(Block(config));
  if (config.final_norm) ln_f = register_module("ln_f", NormLayer(config));
}

Tensor TransformerImpl::forward(const Tensor& ids, ForwardPass& pass) {
  Tensor x = embedding(ids, pass);                                            // (B, T) -> (B, T, C)
  for (const auto& block : *h) x = block->as<BlockImpl>()->forward(x, pass);  // (B, T, C)
  return ln_f.is_empty() ? x : ln_f(x);
}

GptModel::GptModel(const ModelConfig& config, std::int64_t vocab_size) : LanguageModel(config, vocab_size) {
  transformer_ = register_module("transformer", Transformer(config, vocab_size));
  lm_head_ =
      register_module("lm_head", Head(config.n_embd, vocab_size, config.tie_weights, has_bias(config, Place::head)));
}

Tensor GptModel::forward(const Tensor& ids, const ForwardContext& context) {
  check_input(ids, context);
  ForwardPass pass(context, ids);
  const Tensor x = transformer_(ids, pass);                 // (B, T) -> (B, T, C)
  return lm_head_(x, transformer_->embedding.wte->weight);  // (B, T, C) -> (B, T, V)
}

}  // namespace chargpt
