#include "model/average.h"

#include <ATen/ops/ones.h>

#include "model/attention.h"
#include "model/layers.h"

namespace chargpt {

using torch::Tensor;

AverageModel::AverageModel(const ModelConfig& config, std::int64_t vocab_size) : LanguageModel(config, vocab_size) {
  wte_ = register_module("wte", torch::nn::Embedding(vocab_size, config.n_embd));
  lm_head_ = register_module("lm_head", torch::nn::Linear(config.n_embd, vocab_size));
}

Tensor AverageModel::forward(const Tensor& ids, const ForwardContext& context) {
  check_input(ids, context);
  const Tensor x = wte_(ids);  // (B, T) -> (B, T, C)
  const std::int64_t B = x.size(0), T = x.size(1);

  // A mean is attention that knows nothing: every visible token gets the same weight.
  Tensor weights = at::ones({1, T, T}, x.options().requires_grad(false));
  if (config().causal) weights = weights.tril();
  if (const Tensor begins = ForwardPass(context, ids).document_begins; begins.defined())
    weights = weights * document_mask(begins, weights.options()).exp();
  weights = weights / weights.sum(-1, /*keepdim=*/true);
  if (context.attention != nullptr) context.attention->push_back(weights.unsqueeze(1).expand({B, 1, T, T}));
  return lm_head_(weights.matmul(x));  // (1 or B, T, T) x (B, T, C) -> (B, T, C) -> (B, T, V)
}

}  // namespace chargpt
