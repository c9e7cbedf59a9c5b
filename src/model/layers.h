// The layers of the models, as LibTorch modules: parameters, and what forward() makes of them. registry.cpp alone
// includes this file. network/initial_weights.h sets the weights. Independent of models, training and texts.
//
// Letters in shapes: B batch, T time, C channels (n_embd), V vocabulary, nh heads, hs head size.
#pragma once

#include <ATen/ops/addcmul.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>

#include "config/config.h"
#include "model/attention.h"
#include "model/language_model.h"
#include "network/model_types.h"

namespace chargpt {

using torch::Tensor;
using torch::nn::Embedding;
using torch::nn::Linear;

inline Linear linear(std::int64_t in, std::int64_t out, bool bias) {
  return Linear(torch::nn::LinearOptions(in, out).bias(bias));
}

/// Normalises the last dimension. The library does not accept an undefined gain as absent, so it becomes nullopt.
inline Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  return at::rms_norm(x, {x.size(-1)}, gain.defined() ? std::optional(gain) : std::nullopt, eps);
}

/// Normalises each token over its features. layernorm: Ba et al. (2016), biased variance; rmsnorm: Zhang & Sennrich
/// (2019), without shift; none: the identity. Shape: (..., C) -> (..., C). Parameters, if the config has them: `weight`
/// (C), the gain; `bias` (C), only for layernorm.
class NormLayerImpl : public torch::nn::Module {
 public:
  explicit NormLayerImpl(const ModelConfig& config) : kind_(config.norm), eps_(config.norm_eps) {
    if (kind_ == Norm::none) return;
    if (config.norm_gain) weight_ = register_parameter("weight", at::ones({config.n_embd}));
    if (kind_ == Norm::layernorm && has_bias(config, Place::norm))
      bias_ = register_parameter("bias", at::zeros({config.n_embd}));
  }

  Tensor forward(const Tensor& x) {
    if (kind_ == Norm::layernorm) return at::layer_norm(x, {x.size(-1)}, weight_, bias_, eps_);
    return kind_ == Norm::rmsnorm ? rms_norm(x, weight_, eps_) : x;
  }

 private:
  Norm kind_;
  double eps_;
  Tensor weight_, bias_;  ///< undefined if the norm does not have them
};
TORCH_MODULE(NormLayer);

/// Causal convolution of each channel, added to its input: y_t = x_t + sum over j of weight_j x_(t-j), with zeros
/// before the window and the document. So et al., "Primer" (2021); Allen-Zhu, "canon layers" (2025). Starts as the
/// identity. Shape: (B, T, C) -> (B, T, C). Parameters: `weight` (taps, C); row j weights the token j positions before.
class ShortConvolutionImpl : public torch::nn::Module {
 public:
  explicit ShortConvolutionImpl(const ModelConfig& config)
      : weight_(register_parameter("weight", at::zeros({config.conv_width, config.n_embd}))) {}

  Tensor forward(const Tensor& x, const ForwardPass& pass) {
    const std::int64_t T = x.size(1), before = weight_.size(0) - 1;
    const Tensor earlier = at::zeros({x.size(0), before, x.size(2)}, x.options());
    const Tensor rows = at::cat({earlier, x}, 1);  // (B, before + T, C)
    Tensor y = x;
    for (std::int64_t j = 0; j <= before; ++j) {
      Tensor seen = rows.narrow(1, before - j, T);
      if (pass.document_begins.defined()) {
        const Tensor places = at::arange(T, pass.document_begins.options());
        seen = seen.masked_fill((places - j < pass.document_begins).unsqueeze(-1), 0);
      }
      y = at::addcmul(y, seen, weight_[j]);
    }
    return y;
  }

 private:
  Tensor weight_;
};
TORCH_MODULE(ShortConvolution);

/// Feed-forward layer for each token: widen, activate, narrow; swiglu multiplies by a gate instead (Shazeer 2020).
/// Shape: (..., C) -> (..., C). Parameters: `c_fc` (mlp, C), `c_gate` (mlp, C) for swiglu, `c_proj` (C, mlp).
class MLPImpl : public torch::nn::Module {
 public:
  explicit MLPImpl(const ModelConfig& config)
      : activation_(config.activation), dropout_(dropout_rate(config, Place::mlp)) {
    const bool bias = has_bias(config, Place::mlp);
    c_fc_ = register_module("c_fc", linear(config.n_embd, mlp_width(config), bias));
    if (activation_ == Activation::swiglu)
      c_gate_ = register_module("c_gate", linear(config.n_embd, mlp_width(config), bias));
    c_proj_ = register_module("c_proj", linear(mlp_width(config), config.n_embd, bias));
  }

  Tensor forward(const Tensor& x, ForwardPass& pass) {
    return pass.drop(c_proj_(activated(c_fc_(x), x)), dropout_);  // (..., C) -> (..., mlp) -> (..., C)
  }

 private:
  /// f(h), where h = c_fc(x); swiglu's gate depends on x.
  Tensor activated(const Tensor& h, const Tensor& x) {
    if (activation_ == Activation::swiglu) return h * at::silu(c_gate_(x));
    if (activation_ == Activation::gelu) return at::gelu(h);
    if (activation_ == Activation::gelu_tanh) return at::gelu(h, "tanh");
    const Tensor y = at::relu(h);
    // relu2: So et al., "Primer" (2021). A product, because autocast computes powers in float32.
    return activation_ == Activation::relu2 ? y * y : y;
  }

  Activation activation_;
  double dropout_;
  Linear c_fc_{nullptr}, c_gate_{nullptr}, c_proj_{nullptr};
};
TORCH_MODULE(MLP);

/// Every token attends to itself and to the tokens before it, each head with its own weights.
/// Shape: (B, T, C) -> (B, T, C). Parameters: `c_attn` (3 nh hs, C), rows in the order queries, keys, values, each head
/// by head; `c_proj` (C, nh hs) if the config has an output projection. Buffers for rope: `cosines`, `sines`
/// (block_size, hs/2).
class CausalSelfAttentionImpl : public torch::nn::Module {
 public:
  explicit CausalSelfAttentionImpl(const ModelConfig& config) : config_(config), head_size_(head_width(config)) {
    const std::int64_t joined = config.n_head * head_size_;
    c_attn_ = register_module("c_attn", linear(config.n_embd, 3 * joined, has_bias(config, Place::attention)));
    if (config.output_projection)
      c_proj_ = register_module("c_proj", linear(joined, config.n_embd, has_bias(config, Place::attention_output)));
    if (config.position != Position::rope) return;
    const Tensor angles = rotary_angles(config.block_size, head_size_, config.rope_base);
    cosines_ = register_buffer("cosines", angles.cos().to(at::kFloat));
    sines_ = register_buffer("sines", angles.sin().to(at::kFloat));
  }

  Tensor forward(const Tensor& x, ForwardPass& pass) {
    const std::int64_t B = x.size(0), T = x.size(1), nh = config_.n_head;
    const auto qkv = c_attn_(x).view({B, T, 3 * nh, head_size_}).split({2 * nh, nh}, 2);
    Tensor qk = qkv[0];  // (B, T, 2 nh, hs): queries and keys go through the same operations
    // Henry et al., "Query-key normalization" (2020), here with RMS norm
    if (config_.qk_norm) qk = rms_norm(qk, {}, config_.norm_eps);
    const auto of_positions = [&](const Tensor& table) {  // (block_size, hs/2) -> (T, 1, hs/2)
      return table.narrow(0, 0, T).unsqueeze(1).to(qk.scalar_type());
    };
    if (cosines_.defined()) qk = rotate_halves(qk, of_positions(cosines_), of_positions(sines_));
    const auto both = qk.chunk(2, 2);
    const Tensor heads = attend(both[0].transpose(1, 2), both[1].transpose(1, 2), qkv[1].transpose(1, 2), pass);
    const Tensor joined = heads.transpose(1, 2).reshape({B, T, nh * head_size_});  // -> (B, T, nh hs)
    return pass.drop(c_proj_.is_empty() ? joined : c_proj_(joined),
                     dropout_rate(config_, Place::attention_output));  // -> (B, T, C)
  }

 private:
  /// q, k, v (B, nh, T, hs) -> (B, nh, T, hs). The built-in kernel does not return weights, and on the CPU its dropout
  /// does not use our masks (see ForwardPass); if either is needed, uses scaled_dot_product() instead.
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, ForwardPass& pass) const {
    const double rate = dropout_rate(config_, Place::attention), scale = score_scale(config_);
    const bool drops = pass.drops(rate), kernel_drops = drops && !q.is_cpu();
    if (drops == kernel_drops && pass.attention == nullptr && !pass.mask.defined())
      return at::scaled_dot_product_attention(q, k, v, {}, kernel_drops ? rate : 0.0, /*is_causal=*/true, scale);
    const Attended attended = scaled_dot_product(q, k, v, pass.mask_of(q).unsqueeze(-3), scale);
    if (pass.attention != nullptr) pass.attention->push_back(attended.weights.detach());
    return drops ? pass.drop(attended.weights, rate).matmul(v) : attended.output;
  }

  ModelConfig config_;
  std::int64_t head_size_;
  Linear c_attn_{nullptr}, c_proj_{nullptr};
  Tensor cosines_, sines_;
};
TORCH_MODULE(CausalSelfAttention);

/// One transformer block: attention, then the feed-forward layer, each with a residual connection. pre: x + f(norm(x)),
/// Xiong et al. (2020); post: norm(x + f(x)), Vaswani et al. (2017). A convolution may precede f. Shape: (B, T, C) ->
/// (B, T, C). Submodules: `ln_1`, `attn`; `ln_2`, `mlp` with a feed-forward layer; `conv_1`, `conv_2` with
/// convolutions.
class BlockImpl : public torch::nn::Module {
 public:
  explicit BlockImpl(const ModelConfig& config) : norm_place_(config.norm_place) {
    ln_1_ = register_module("ln_1", NormLayer(config));
    if (has_convolution(config, Place::attention)) conv_1_ = register_module("conv_1", ShortConvolution(config));
    attn_ = register_module("attn", CausalSelfAttention(config));
    if (!config.feed_forward) return;
    ln_2_ = register_module("ln_2", NormLayer(config));
    if (has_convolution(config, Place::mlp)) conv_2_ = register_module("conv_2", ShortConvolution(config));
    mlp_ = register_module("mlp", MLP(config));
  }

  Tensor forward(const Tensor& x, ForwardPass& pass) {
    const auto residual = [&](const Tensor& h, NormLayer& norm, ShortConvolution& convolution, auto& sublayer) {
      const bool pre = norm_place_ == NormPlace::pre;
      Tensor read = pre ? norm(h) : h;
      if (!convolution.is_empty()) read = convolution(read, pass);
      const Tensor sum = h + sublayer(read, pass);
      return pre ? sum : norm(sum);
    };
    const Tensor h = residual(x, ln_1_, conv_1_, attn_);
    return mlp_.is_empty() ? h : residual(h, ln_2_, conv_2_, mlp_);
  }

 private:
  NormPlace norm_place_;
  NormLayer ln_1_{nullptr}, ln_2_{nullptr};
  ShortConvolution conv_1_{nullptr}, conv_2_{nullptr};
  CausalSelfAttention attn_{nullptr};
  MLP mlp_{nullptr};
};
TORCH_MODULE(Block);

/// The vectors (block_size, C) of positions 0 to T - 1: (T, C). With documents, the vectors of each token's position in
/// its document: (B, T, C).
inline Tensor vectors_of_places(const Tensor& vectors, std::int64_t T, const Tensor& document_begins) {
  if (!document_begins.defined()) return vectors.narrow(0, 0, T);
  return at::embedding(vectors, at::arange(T, document_begins.options()) - document_begins);
}

/// Token embedding plus positions. Not a module: it registers `wte`, and `wpe` for learned positions, in its owner, so
/// that they have the same names as in nanoGPT.
/// Shape: ids (B, T) -> (B, T, C).
class InputEmbedding {
 public:
  InputEmbedding(torch::nn::Module& owner, const ModelConfig& config, std::int64_t vocab_size)
      : wte(owner.register_module("wte", Embedding(vocab_size, config.n_embd))),
        dropout_(dropout_rate(config, Place::embedding)) {
    if (config.position == Position::learned)
      vectors_ = owner.register_module("wpe", Embedding(config.block_size, config.n_embd))->weight;
    if (config.position == Position::sinusoidal)
      vectors_ = owner.register_buffer("sinusoids", sinusoidal_table(config.block_size, config.n_embd));
  }

  Tensor operator()(const Tensor& ids, ForwardPass& pass) {
    Tensor x = wte(ids);     // (B, T) -> (B, T, C)
    if (vectors_.defined())  // + (T, C) or (B, T, C)
      x = x + vectors_of_places(vectors_, ids.size(1), pass.document_begins);
    return pass.drop(x, dropout_);
  }

  Embedding wte;

 private:
  Tensor vectors_;  ///< (block_size, C), of positions; may be undefined
  double dropout_;
};

/// The last layer: logits of all symbols. Tied, it uses the weight of the token embedding, passed to each call (Press &
/// Wolf 2017), because a registered copy would become stale when the parameter moves. Shape: (B, T, C) -> (B, T, V).
/// Parameters: `weight` (V, C) unless tied, `bias` (V) if the config has one.
class HeadImpl : public torch::nn::Module {
 public:
  HeadImpl(const ModelConfig& config, std::int64_t vocab_size) {
    if (!config.tie_weights) weight_ = register_parameter("weight", at::zeros({vocab_size, config.n_embd}));
    if (has_bias(config, Place::head)) bias_ = register_parameter("bias", at::zeros({vocab_size}));
  }

  Tensor forward(const Tensor& x, const Tensor& token_embedding) {
    return at::linear(x, weight_.defined() ? weight_ : token_embedding, bias_);  // (B, T, C) -> (B, T, V)
  }

 private:
  Tensor weight_, bias_;  ///< undefined if the head does not have them
};
TORCH_MODULE(Head);

}  // namespace chargpt
