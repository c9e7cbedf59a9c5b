#include "model/masked.h"

#include "model/attention.h"
#include "model/layers.h"

namespace chargpt {

using torch::Tensor;

MaskedModel::MaskedModel(const ModelConfig& config, std::int64_t vocab_size) : LanguageModel(config, vocab_size) {
  wte_ = register_module("wte", torch::nn::Embedding(vocab_size, config.n_embd));
  wpe_ = register_module("wpe", torch::nn::Embedding(config.block_size, config.n_embd));
  lm_head_ = register_module("lm_head", torch::nn::Linear(config.n_embd, vocab_size));
}

Tensor MaskedModel::forward(const Tensor& ids, const ForwardContext& context) {
  check_input(ids, context);
  const std::int64_t T = ids.size(1);
  const Tensor begins = ForwardPass(context, ids).document_begins;
  const Tensor x = wte_(ids) + vectors_of_places(wpe_->weight, T, begins);  // (B, T, C) + (T, C) -> (B, T, C)

  // Unscaled, x . x grows with C and dwarfs every x . y: the weights fall on the token itself. Hence 1/sqrt(d), hence q
  // and k.
  const Tensor mask = begins.defined() ? document_mask(begins, x.options()) : causal_mask(T, T, x.options());
  const Attended attended = scaled_dot_product(x, x, x, mask, 1.0);
  if (context.attention != nullptr) context.attention->push_back(attended.weights.detach().unsqueeze(1));
  return lm_head_(attended.output);  // (B, T, C) -> (B, T, V)
}

}  // namespace chargpt
