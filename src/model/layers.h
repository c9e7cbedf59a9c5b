// The layers of the models, as LibTorch modules. network/initial_weights.h sets their weights. Independent of models,
// training and texts.
//
// Letters in shapes: B batch, T time, C channels (n_embd), V vocabulary, nh heads, hs head size.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "config/config.h"
#include "model/attention.h"
#include "model/language_model.h"
#include "network/model_types.h"

namespace chargpt {

/// Normalises each token over its features. layernorm: Ba et al. (2016), biased variance; rmsnorm: Zhang & Sennrich
/// (2019), without shift; none: the identity. Shape: (..., C) -> (..., C). Parameters, if the config has them: `weight`
/// (C), the gain; `bias` (C), only for layernorm.
class NormLayerImpl : public torch::nn::Module {
 public:
  explicit NormLayerImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& x);

  torch::Tensor weight, bias;  ///< undefined if the norm does not have them

 private:
  Norm kind_;
  std::int64_t size_;
  double eps_;
};
TORCH_MODULE(NormLayer);

/// Causal convolution of each channel, added to its input: y_t = x_t + sum over j of weight_j x_(t-j), with zeros
/// before the window and the document. So et al., "Primer" (2021); Allen-Zhu, "canon layers" (2025). Starts as the
/// identity. Shape: (B, T, C) -> (B, T, C). Parameters: `weight` (taps, C); row j weights the token j positions before.
class ShortConvolutionImpl : public torch::nn::Module {
 public:
  explicit ShortConvolutionImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& x, const ForwardPass& pass);

  torch::Tensor weight;
};
TORCH_MODULE(ShortConvolution);

/// Feed-forward layer for each token: widen, activate, narrow; swiglu multiplies by a gate instead (Shazeer 2020).
/// Shape: (..., C) -> (..., C). Parameters: `c_fc` (mlp, C), `c_gate` (mlp, C) for swiglu, `c_proj` (C, mlp).
class MLPImpl : public torch::nn::Module {
 public:
  explicit MLPImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& x, ForwardPass& pass);

  torch::nn::Linear c_fc{nullptr}, c_gate{nullptr}, c_proj{nullptr};

 private:
  Activation activation_;
  double dropout_;
};
TORCH_MODULE(MLP);

/// Encodes positions as rotations of queries and keys.
/// Shape: (B, T, nh, hs) -> (B, T, nh, hs). Buffers: `cosines`, `sines` (block_size, hs/2).
class RotaryEmbeddingImpl : public torch::nn::Module {
 public:
  RotaryEmbeddingImpl(std::int64_t block_size, std::int64_t head_size, double base);
  torch::Tensor forward(const torch::Tensor& x);

  torch::Tensor cosines, sines;
};
TORCH_MODULE(RotaryEmbedding);

/// Every token attends to itself and to the tokens before it, each head with its own weights.
/// Shape: (B, T, C) -> (B, T, C). Parameters: `c_attn` (3 nh hs, C), rows in the order queries, keys, values, each head
/// by head; `c_proj` (C, nh hs) if the config has an output projection.
class CausalSelfAttentionImpl : public torch::nn::Module {
 public:
  explicit CausalSelfAttentionImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& x, ForwardPass& pass);

  torch::nn::Linear c_attn{nullptr}, c_proj{nullptr};
  RotaryEmbedding rope{nullptr};

 private:
  torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, ForwardPass& pass) const;

  std::int64_t n_head_, head_size_;
  double scale_, norm_eps_, weights_dropout_, output_dropout_;
  bool qk_norm_;
};
TORCH_MODULE(CausalSelfAttention);

/// One transformer block: attention, then the feed-forward layer, each with a residual connection. pre: x + f(norm(x)),
/// Xiong et al. (2020); post: norm(x + f(x)), Vaswani et al. (2017). A convolution may precede f. Shape: (B, T, C) ->
/// (B, T, C). Submodules: `ln_1`, `attn`; `ln_2`, `mlp` with a feed-forward layer; `conv_1`, `conv_2` with
/// convolutions.
class BlockImpl : public torch::nn::Module {
 public:
  explicit BlockImpl(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& x, ForwardPass& pass);

  NormLayer ln_1{nullptr}, ln_2{nullptr};
  ShortConvolution conv_1{nullptr}, conv_2{nullptr};
  CausalSelfAttention attn{nullptr};
  MLP mlp{nullptr};

 private:
  NormPlace norm_place_;
};
TORCH_MODULE(Block);

/// The vectors (block_size, C) of positions 0 to T - 1: (T, C). With documents, the vectors of each token's position in
/// its document: (B, T, C).
torch::Tensor vectors_of_places(const torch::Tensor& vectors, std::int64_t T, const torch::Tensor& document_begins);

/// Token embedding plus positions. Not a module: it registers `wte`, and `wpe` for learned positions, in its owner, so
/// that they have the same names as in nanoGPT.
/// Shape: ids (B, T) -> (B, T, C).
class InputEmbedding {
 public:
  InputEmbedding(torch::nn::Module& owner, const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor operator()(const torch::Tensor& ids, ForwardPass& pass);

  torch::nn::Embedding wte{nullptr}, wpe{nullptr};

 private:
  torch::Tensor sinusoids_;  ///< (block_size, C); may be undefined
  double dropout_;
};

/// The last layer: logits of all symbols. Tied, it uses the weight of the token embedding, passed to each call (Press &
/// Wolf 2017), because a registered copy would become stale when the parameter moves. Shape: (B, T, C) -> (B, T, V).
/// Parameters: `weight` (V, C) unless tied, `bias` (V) if the config has one.
class HeadImpl : public torch::nn::Module {
 public:
  HeadImpl(const ModelConfig& config, std::int64_t vocab_size);
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& token_embedding);

  std::int64_t n_embd;
  torch::Tensor weight, bias;  ///< undefined if the head does not have them
};
TORCH_MODULE(Head);

}  // namespace chargpt
