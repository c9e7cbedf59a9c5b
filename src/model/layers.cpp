#include "model/layers.h"

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

#include <optional>

#include "model/attention.h"

namespace chargpt {

using torch::Tensor;

namespace {

torch::nn::Linear linear(std::int64_t in, std::int64_t out, bool bias) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias));
}

/// Normalises the last dimension. The library does not accept an undefined gain as absent, so it becomes nullopt.
Tensor rms_norm(const Tensor& x, const Tensor& gain, double eps) {
  return at::rms_norm(x, {x.size(-1)}, gain.defined() ? std::optional(gain) : std::nullopt, eps);
}

/// Applies activation `kind`. Throws c10::Error for swiglu, a layer with a gate and not a function of one tensor.
Tensor activate(const Tensor& x, Activation kind) {
  switch (kind) {
    case Activation::gelu:
      return at::gelu(x);
    case Activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case Activation::relu:
      return at::relu(x);
    case Activation::relu2: {  // So et al., "Primer" (2021)
      const Tensor y = at::relu(x);
      return y * y;  // autocast computes powers in float32
    }
    case Activation::swiglu:
      break;
  }
  TORCH_CHECK(false, "swiglu is a gated layer (MLP), not a function of one tensor");
}

}  // namespace

// ---- NormLayer

NormLayerImpl::NormLayerImpl(const ModelConfig& config)
    : kind_(config.norm), size_(config.n_embd), eps_(config.norm_eps) {
  if (kind_ == Norm::none) return;
  if (config.norm_gain) weight = register_parameter("weight", at::ones({size_}));
  if (kind_ == Norm::layernorm && has_bias(config, Place::norm)) bias = register_parameter("bias", at::zeros({size_}));
}

Tensor NormLayerImpl::forward(const Tensor& x) {
  switch (kind_) {
    case Norm::layernorm:
      return at::layer_norm(x, {size_}, weight, bias, eps_);
    case Norm::rmsnorm:
      return rms_norm(x, weight, eps_);
    case Norm::none:
      return x;
  }
  TORCH_INTERNAL_ASSERT(false, "unknown norm");
}

// ---- ShortConvolution

ShortConvolutionImpl::ShortConvolutionImpl(const ModelConfig& config)
    : weight(register_parameter("weight", at::zeros({config.conv_width, config.n_embd}))) {}

Tensor ShortConvolutionImpl::forward(const Tensor& x, const ForwardPass& pass) {
  const std::int64_t T = x.size(1), before = weight.size(0) - 1;
  const Tensor earlier = at::zeros({x.size(0), before, x.size(2)}, x.options());
  const Tensor rows = at::cat({earlier, x}, 1);  // (B, before + T, C)
  Tensor y = x;
  for (std::int64_t j = 0; j <= before; ++j) {
    Tensor seen = rows.narrow(1, before - j, T);
    if (pass.document_begins.defined()) {
      const Tensor places = at::arange(T, pass.document_begins.options());
      seen = seen.masked_fill((places - j < pass.document_begins).unsqueeze(-1), 0);
    }
    y = at::addcmul(y, seen, weight[j]);
  }
  return y;
}

// ---- MLP

MLPImpl::MLPImpl(const ModelConfig& config)
    : activation_(config.activation), dropout_(dropout_rate(config, Place::mlp)) {
  const bool bias = has_bias(config, Place::mlp);
  c_fc = register_module("c_fc", linear(config.n_embd, mlp_width(config), bias));
  if (activation_ == Activation::swiglu)
    c_gate = register_module("c_gate", linear(config.n_embd, mlp_width(config), bias));
  c_proj = register_module("c_proj", linear(mlp_width(config), config.n_embd, bias));
}

Tensor MLPImpl::forward(const Tensor& x, ForwardPass& pass) {
  const Tensor wide = c_fc(x);  // (..., C) -> (..., mlp)
  const Tensor bent = c_gate.is_empty() ? activate(wide, activation_) : wide * at::silu(c_gate(x));
  return pass.drop(c_proj(bent), dropout_);  // (..., mlp) -> (..., C)
}

// ---- RotaryEmbedding

RotaryEmbeddingImpl::RotaryEmbeddingImpl(std::int64_t block_size, std::int64_t head_size, double base) {
  const Tensor angles = rotary_angles(block_size, head_size, base);
  cosines = register_buffer("cosines", angles.cos().to(at::kFloat));
  sines = register_buffer("sines", angles.sin().to(at::kFloat));
}

Tensor RotaryEmbeddingImpl::forward(const Tensor& x) {
  const auto of_positions = [&](const Tensor& table) {  // (block_size, hs/2) -> (T, 1, hs/2)
    return table.narrow(0, 0, x.size(1)).unsqueeze(1).to(x.scalar_type());
  };
  return rotate_halves(x, of_positions(cosines), of_positions(sines));
}

// ---- CausalSelfAttention

CausalSelfAttentionImpl::CausalSelfAttentionImpl(const ModelConfig& config)
    : n_head_(config.n_head),
      head_size_(head_width(config)),
      scale_(score_scale(config)),
      norm_eps_(config.norm_eps),
      weights_dropout_(dropout_rate(config, Place::attention)),
      output_dropout_(dropout_rate(config, Place::attention_output)),
      qk_norm_(config.qk_norm) {
  const std::int64_t joined = n_head_ * head_size_;
  c_attn = register_module("c_attn", linear(config.n_embd, 3 * joined, has_bias(config, Place::attention)));
  if (config.output_projection)
    c_proj = register_module("c_proj", linear(joined, config.n_embd, has_bias(config, Place::attention_output)));
  if (config.position == Position::rope)
    rope = register_module("rope", RotaryEmbedding(config.block_size, head_size_, config.rope_base));
}

Tensor CausalSelfAttentionImpl::forward(const Tensor& x, ForwardPass& pass) {
  const std::int64_t B = x.size(0), T = x.size(1);
  const auto qkv = c_attn(x).view({B, T, 3 * n_head_, head_size_}).split({2 * n_head_, n_head_}, 2);
  Tensor qk = qkv[0];                              // (B, T, 2 nh, hs): queries and keys go through the same operations
  if (qk_norm_) qk = rms_norm(qk, {}, norm_eps_);  // Henry et al., "Query-key normalization" (2020), here with RMS norm
  if (!rope.is_empty()) qk = rope(qk);
  const auto both = qk.chunk(2, 2);
  const Tensor heads = attend(both[0].transpose(1, 2), both[1].transpose(1, 2), qkv[1].transpose(1, 2), pass);
  const Tensor joined = heads.transpose(1, 2).reshape({B, T, n_head_ * head_size_});  // -> (B, T, nh hs)
  return pass.drop(c_proj.is_empty() ? joined : c_proj(joined), output_dropout_);     // -> (B, T, C)
}

/// q, k, v (B, nh, T, hs) -> (B, nh, T, hs). The built-in kernel does not return weights, and on the CPU its dropout
/// does not use our masks (see ForwardPass); if either is needed, uses scaled_dot_product() instead.
Tensor CausalSelfAttentionImpl::attend(const Tensor& q, const Tensor& k, const Tensor& v, ForwardPass& pass) const {
  const bool drops = pass.drops(weights_dropout_), kernel_drops = drops && !q.is_cpu();
  if (drops == kernel_drops && pass.attention == nullptr && !pass.mask.defined())
    return at::scaled_dot_product_attention(q, k, v, {}, kernel_drops ? weights_dropout_ : 0.0, /*is_causal=*/true,
                                            scale_);
  const Attended attended = scaled_dot_product(q, k, v, pass.mask_of(q).unsqueeze(-3), scale_);
  if (pass.attention != nullptr) pass.attention->push_back(attended.weights.detach());
  return drops ? pass.drop(attended.weights, weights_dropout_).matmul(v) : attended.output;
}

// ---- Block

BlockImpl::BlockImpl(const ModelConfig& config) : norm_place_(config.norm_place) {
  ln_1 = register_module("ln_1", NormLayer(config));
  if (has_convolution(config, Place::attention)) conv_1 = register_module("conv_1", ShortConvolution(config));
  attn = register_module("attn", CausalSelfAttention(config));
  if (!config.feed_forward) return;
  ln_2 = register_module("ln_2", NormLayer(config));
  if (has_convolution(config, Place::mlp)) conv_2 = register_module("conv_2", ShortConvolution(config));
  mlp = register_module("mlp", MLP(config));
}

Tensor BlockImpl::forward(const Tensor& x, ForwardPass& pass) {
  const auto residual = [&](const Tensor& h, NormLayer& norm, ShortConvolution& convolution, auto& sublayer) {
    const bool pre = norm_place_ == NormPlace::pre;
    Tensor read = pre ? norm(h) : h;
    if (!convolution.is_empty()) read = convolution(read, pass);
    const Tensor sum = h + sublayer(read, pass);
    return pre ? sum : norm(sum);
  };
  const Tensor h = residual(x, ln_1, conv_1, attn);
  return mlp.is_empty() ? h : residual(h, ln_2, conv_2, mlp);
}

// ---- InputEmbedding

Tensor vectors_of_places(const Tensor& vectors, std::int64_t T, const Tensor& document_begins) {
  if (!document_begins.defined()) return vectors.narrow(0, 0, T);
  return at::embedding(vectors, at::arange(T, document_begins.options()) - document_begins);
}

InputEmbedding::InputEmbedding(torch::nn::Module& owner, const ModelConfig& config, std::int64_t vocab_size)
    : dropout_(dropout_rate(config, Place::embedding)) {
  wte = owner.register_module("wte", torch::nn::Embedding(vocab_size, config.n_embd));
  if (config.position == Position::learned)
    wpe = owner.register_module("wpe", torch::nn::Embedding(config.block_size, config.n_embd));
  if (config.position == Position::sinusoidal)
    sinusoids_ = owner.register_buffer("sinusoids", sinusoidal_table(config.block_size, config.n_embd));
}

Tensor InputEmbedding::operator()(const Tensor& ids, ForwardPass& pass) {
  Tensor x = wte(ids);  // (B, T) -> (B, T, C)
  const std::int64_t T = ids.size(1);
  for (const Tensor& vectors : {wpe.is_empty() ? Tensor() : wpe->weight, sinusoids_})
    if (vectors.defined()) x = x + vectors_of_places(vectors, T, pass.document_begins);  // + (T, C) or (B, T, C)
  return pass.drop(x, dropout_);
}

// ---- Head

HeadImpl::HeadImpl(const ModelConfig& config, std::int64_t vocab_size) : n_embd(config.n_embd) {
  if (!config.tie_weights) weight = register_parameter("weight", at::zeros({vocab_size, n_embd}));
  if (has_bias(config, Place::head)) bias = register_parameter("bias", at::zeros({vocab_size}));
}

Tensor HeadImpl::forward(const Tensor& x, const Tensor& token_embedding) {
  return at::linear(x, weight.defined() ? weight : token_embedding, bias);  // (B, T, C) -> (B, T, V)
}

}  // namespace chargpt
