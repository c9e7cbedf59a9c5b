// The decoder-only transformer: by default nanoGPT's and GPT-2's, by options others.
#pragma once

#include <torch/nn/modules/container/modulelist.h>

#include "model/language_model.h"
#include "model/layers.h"

namespace chargpt {

/// Embedding, n_layer blocks, and, with final_norm, a last normalisation.
/// Shape: ids (B, T) -> (B, T, C). Submodules as in nanoGPT: `wte`, `wpe`, `h`, `ln_f`.
class TransformerImpl : public torch::nn::Module {
 public:
  TransformerImpl(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids, ForwardPass& pass);

  InputEmbedding embedding;
  torch::nn::ModuleList h;
  NormLayer ln_f{nullptr};
};
TORCH_MODULE(Transformer);

/// Parameters: nanoGPT's names, `transformer.h.0.attn.c_attn.weight`; `lm_head.weight` only if it is not tied.
class GptModel : public LanguageModel {
 public:
  GptModel(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& ids, const ForwardContext& context = {}) override;

 private:
  Transformer transformer_{nullptr};
  Head lm_head_{nullptr};
};

}  // namespace chargpt
