#include "model/registry.h"

#include <ATen/ops/ones.h>
#include <torch/nn/modules/container/modulelist.h>

#include "model/attention.h"
#include "model/layers.h"
#include "network/model_types.h"

namespace chargpt {
namespace {

/// The softmax bigram model: a table of next-symbol logits per symbol, factorised through an embedding. The simplest
/// type. Parameters: `wte.weight` (V, C), `lm_head.weight` (V, C), `lm_head.bias` (V).
class BigramModel : public LanguageModel {
 public:
  using LanguageModel::LanguageModel;

  Tensor forward(const Tensor& ids, ForwardPass pass) override {
    begin(ids, pass);
    return lm_head_(wte_(ids));  // (B, T) -> (B, T, C) -> (B, T, V)
  }

 protected:
  Embedding wte_ = register_module("wte", Embedding(vocab_size(), config().n_embd));
  Linear lm_head_ = register_module("lm_head", Linear(config().n_embd, vocab_size()));
};

/// The averaging model: the mean of the visible tokens, all with equal weight. If `causal` is false, it sees later
/// tokens and its own target, to teach that such a loss is meaningless. Parameters: those of BigramModel.
class AverageModel : public BigramModel {
 public:
  using BigramModel::BigramModel;

  Tensor forward(const Tensor& ids, ForwardPass pass) override {
    begin(ids, pass);
    const Tensor x = wte_(ids);  // (B, T) -> (B, T, C)
    const std::int64_t B = x.size(0), T = x.size(1);

    // A mean is attention with equal weights for all visible tokens.
    const Tensor visible = config().causal ? pass.mask_of(x).exp() : at::ones({T, T}, x.options());
    const Tensor weights = visible / visible.sum(-1, /*keepdim=*/true);
    if (pass.attention != nullptr) pass.attention->push_back(weights.unsqueeze(-3).expand({B, 1, T, T}));
    return lm_head_(weights.matmul(x));  // (T, T) or (B, T, T), x (B, T, C) -> (B, T, C) -> (B, T, V)
  }
};

/// The masked dot-product model: a token attends to earlier tokens with a similar embedding, without learned queries
/// and keys, and unscaled. Parameters: those of BigramModel, and `wpe.weight` (block_size, C).
class MaskedModel : public LanguageModel {
 public:
  using LanguageModel::LanguageModel;

  Tensor forward(const Tensor& ids, ForwardPass pass) override {
    begin(ids, pass);
    const Tensor places = vectors_of_places(wpe_->weight, ids.size(1), pass.document_begins);
    const Tensor x = wte_(ids) + places;  // (B, T, C) + (T, C) or (B, T, C) -> (B, T, C)

    // Unscaled, x . x grows with C and is much larger than x . y, so almost all weight is on the token itself. This is
    // why attention has the scale 1/sqrt(d), queries and keys.
    const Attended attended = scaled_dot_product(x, x, x, pass.mask_of(x), 1.0);
    if (pass.attention != nullptr) pass.attention->push_back(attended.weights.detach().unsqueeze(1));
    return lm_head_(attended.output);  // (B, T, C) -> (B, T, V)
  }

 private:
  Embedding wte_ = register_module("wte", Embedding(vocab_size(), config().n_embd));
  Embedding wpe_ = register_module("wpe", Embedding(block_size(), config().n_embd));
  Linear lm_head_ = register_module("lm_head", Linear(config().n_embd, vocab_size()));
};

/// One layer of causal self-attention between embedding and head: the masked model with learned queries, keys and
/// values, in one or more heads. gpt adds residuals, norms and feed-forward layers. Parameters: those of
/// InputEmbedding, `attn` of CausalSelfAttention, `lm_head.weight` (V, C), `lm_head.bias` (V).
class AttentionModel : public LanguageModel {
 public:
  using LanguageModel::LanguageModel;

  Tensor forward(const Tensor& ids, ForwardPass pass) override {
    begin(ids, pass);
    const Tensor x = attn_(embedding_(ids, pass), pass);  // (B, T) -> (B, T, C)
    return lm_head_(x);                                   // (B, T, C) -> (B, T, V)
  }

 private:
  InputEmbedding embedding_{*this, config(), vocab_size()};
  CausalSelfAttention attn_ = register_module("attn", CausalSelfAttention(config()));
  Linear lm_head_ = register_module("lm_head", Linear(config().n_embd, vocab_size()));
};

/// Embedding, n_layer blocks, and a last norm if final_norm is true. Shape: ids (B, T) -> (B, T, C). Submodules as in
/// nanoGPT: `wte`, `wpe`, `h`, `ln_f`.
class TransformerImpl : public torch::nn::Module {
 public:
  TransformerImpl(const ModelConfig& config, std::int64_t vocab_size) : embedding(*this, config, vocab_size) {
    h = register_module("h", torch::nn::ModuleList());
    for (std::int64_t layer = 0; layer < config.n_layer; ++layer) h->push_back(Block(config));
    if (config.final_norm) ln_f = register_module("ln_f", NormLayer(config));
  }

  Tensor forward(const Tensor& ids, ForwardPass& pass) {
    Tensor x = embedding(ids, pass);                                            // (B, T) -> (B, T, C)
    for (const auto& block : *h) x = block->as<BlockImpl>()->forward(x, pass);  // (B, T, C)
    return ln_f.is_empty() ? x : ln_f(x);
  }

  InputEmbedding embedding;
  torch::nn::ModuleList h;
  NormLayer ln_f{nullptr};
};
TORCH_MODULE(Transformer);

/// The decoder-only transformer: by default that of GPT-2 and nanoGPT; options change it. Parameters have nanoGPT's
/// names, `transformer.h.0.attn.c_attn.weight`; `lm_head.weight` exists only if it is not tied.
class GptModel : public LanguageModel {
 public:
  using LanguageModel::LanguageModel;

  Tensor forward(const Tensor& ids, ForwardPass pass) override {
    begin(ids, pass);
    const Tensor x = transformer_(ids, pass);                 // (B, T) -> (B, T, C)
    return lm_head_(x, transformer_->embedding.wte->weight);  // (B, T, C) -> (B, T, V)
  }

 private:
  Transformer transformer_ = register_module("transformer", Transformer(config(), vocab_size()));
  Head lm_head_ = register_module("lm_head", Head(config(), vocab_size()));
};

}  // namespace

std::shared_ptr<LanguageModel> make_module(const ModelConfig& config, std::int64_t vocab_size) {
  check_model_config(config);
  if (config.type == "bigram") return std::make_shared<BigramModel>(config, vocab_size);
  if (config.type == "average") return std::make_shared<AverageModel>(config, vocab_size);
  if (config.type == "masked") return std::make_shared<MaskedModel>(config, vocab_size);
  if (config.type == "attention") return std::make_shared<AttentionModel>(config, vocab_size);
  return std::make_shared<GptModel>(config, vocab_size);
}

}  // namespace chargpt
