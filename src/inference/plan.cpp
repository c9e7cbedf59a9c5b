#include "inference/plan.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "inference/dimensions.h"
#include "inference/positions.h"

namespace chargpt::cpu {
namespace {

/// Finds parameters and counts them, so that one that is missing is noticed, and one that nobody asked for.
class Finder {
 public:
  Finder(const FindParameter& find, Packing packing, const Kernels& kernels)
      : find_(find), packing_(packing), kernels_(kernels) {}

  /// A vector of `size`, which may be missing.
  Parameter vector(const std::string& name, long size) { return count(find_(name, {size}), size); }
  /// A matrix that must be there.
  Parameter matrix(const std::string& name, long rows, long columns) {
    const Parameter found = count(find_(name, {rows, columns}), rows * columns);
    complete_ = complete_ && found.exists();
    return found;
  }
  NormPlan norm(const std::string& name, long width) {
    return {vector(name + ".weight", width), vector(name + ".bias", width)};
  }
  LinearPlan linear(const std::string& name, long in, long out) {
    return packed(
        {.weight = matrix(name + ".weight", out, in), .bias = vector(name + ".bias", out), .in = in, .out = out});
  }
  LinearPlan packed(LinearPlan layer) {
    layer.packed_forward = place_of_packed(layer.in, layer.out);
    if (packing_ == Packing::both) layer.packed_backward = place_of_packed(layer.out, layer.in);
    return layer;
  }
  /// Nothing is missing, and these are all `numel` numbers of the model, if it is known how many it has.
  bool found_all(std::optional<std::int64_t> numel) const { return complete_ && numel_ == numel.value_or(numel_); }
  std::int64_t packed_floats() const { return packed_ + kernels_.slack; }

 private:
  Parameter count(const Parameter& found, std::int64_t numel) {
    complete_ = complete_ && (!found.exists() || found.numel == numel);
    numel_ += found.numel;
    return found;
  }
  std::int64_t place_of_packed(long rows, long columns) {
    const std::int64_t begin = packed_;
    packed_ += (columns + kernels_.panel_width - 1) / kernels_.panel_width * kernels_.panel_width * rows;
    return begin;
  }

  const FindParameter& find_;
  Packing packing_;
  const Kernels& kernels_;
  std::int64_t numel_ = 0, packed_ = 0;
  bool complete_ = true;
};

ActivationKind activation_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return ActivationKind::gelu;
    case Activation::gelu_tanh:
      return ActivationKind::gelu_tanh;
    case Activation::relu:
      return ActivationKind::relu;
    case Activation::relu2:
      return ActivationKind::relu2;
    case Activation::swiglu:
      return ActivationKind::silu;
  }
  return ActivationKind::gelu;
}

std::optional<NormKind> norm_of(Norm norm) {
  switch (norm) {
    case Norm::layernorm:
      return NormKind::layernorm;
    case Norm::rmsnorm:
      return NormKind::rmsnorm;
    case Norm::none:
      return std::nullopt;
  }
  return std::nullopt;
}

/// What tells the model types apart.
struct TypeTraits {
  std::string_view type;
  std::string_view prefix;  ///< of the names of what reads the ids
  QkvSource qkv_source;
  bool attends;  ///< to other tokens
};
constexpr std::array type_traits{
    TypeTraits{"bigram", "", QkvSource::uniform, false}, TypeTraits{"average", "", QkvSource::uniform, true},
    TypeTraits{"masked", "", QkvSource::input, true}, TypeTraits{"attention", "", QkvSource::projected, true},
    TypeTraits{"gpt", "transformer.", QkvSource::projected, true}};

const TypeTraits& traits_of(const ModelConfig& config) {
  return *std::ranges::find(type_traits, config.type, &TypeTraits::type);
}

/// A transformer: blocks on a residual stream. Else one layer without norm and feed-forward layer, and a head.
bool is_transformer(const ModelConfig& config) {
  return config.type == "gpt";
}

/// `name`: "transformer.h.0."
BlockPlan block_of(const Plan& plan, const ModelConfig& config, Finder& finder, const std::string& name) {
  BlockPlan block;
  if (plan.qkv_source == QkvSource::projected) {
    block.c_attn = finder.linear(name + "attn.c_attn", plan.n_embd, 3 * plan.attention_width);
    if (config.output_projection) block.c_proj = finder.linear(name + "attn.c_proj", plan.attention_width, plan.n_embd);
  }
  if (plan.norm) block.ln_1 = finder.norm(name + "ln_1", plan.n_embd);
  if (has_convolution(config, Place::attention))
    block.conv_1 = finder.matrix(name + "conv_1.weight", plan.conv_width, plan.n_embd);
  if (!plan.feed_forward) return block;
  if (plan.norm) block.ln_2 = finder.norm(name + "ln_2", plan.n_embd);
  if (has_convolution(config, Place::mlp))
    block.conv_2 = finder.matrix(name + "conv_2.weight", plan.conv_width, plan.n_embd);
  block.c_fc = finder.linear(name + "mlp.c_fc", plan.n_embd, plan.mlp_width);
  if (plan.swiglu) block.c_gate = finder.linear(name + "mlp.c_gate", plan.n_embd, plan.mlp_width);
  block.mlp_proj = finder.linear(name + "mlp.c_proj", plan.mlp_width, plan.n_embd);
  return block;
}

void read_sizes(Plan& plan, const ModelConfig& config, std::int64_t vocab_size) {
  plan.n_embd = config.n_embd;
  plan.vocab_size = vocab_size;
  plan.block_size = config.block_size;
  plan.qkv_source = traits_of(config).qkv_source;
  const bool projected = plan.qkv_source == QkvSource::projected;
  plan.n_head = projected ? config.n_head : 1;
  plan.head_size = projected ? head_width(config) : config.n_embd;
  plan.attention_width = plan.n_head * plan.head_size;
  plan.score_scale = projected ? static_cast<float>(score_scale(config)) : 1;
  plan.causal = config.causal;
}

void read_transformer(Plan& plan, const ModelConfig& config) {
  plan.n_layer = config.n_layer;
  plan.mlp_width = mlp_width(config);
  plan.conv_width = config.conv_places.empty() ? 0 : config.conv_width;
  plan.norm = norm_of(config.norm);
  plan.post_norm = config.norm_place == NormPlace::post;
  plan.final_norm = config.final_norm;
  plan.feed_forward = config.feed_forward;
  plan.swiglu = config.activation == Activation::swiglu;
  plan.activation = activation_of(config.activation);
  plan.norm_eps = static_cast<float>(config.norm_eps);
  plan.tied = config.tie_weights;
}

void read_teaching_model(Plan& plan, const ModelConfig& config) {
  plan.n_layer = traits_of(config).attends ? 1 : 0;
  plan.final_norm = plan.feed_forward = plan.residual = plan.tied = false;
}

void read_attention(Plan& plan, const ModelConfig& config) {
  if (plan.qkv_source != QkvSource::projected) return;
  plan.rope = config.position == Position::rope;
  if (config.qk_norm) plan.qk_norm_eps = static_cast<float>(config.norm_eps);
  plan.dropout = {.embedding = dropout_rate(config, Place::embedding),
                  .attention = dropout_rate(config, Place::attention),
                  .attention_output = dropout_rate(config, Place::attention_output),
                  .mlp = plan.feed_forward ? dropout_rate(config, Place::mlp) : 0};
  if (config.position == Position::sinusoidal) plan.sinusoids = sinusoids(plan.block_size, plan.n_embd);
  if (!plan.rope) return;
  RopeAngles all = rope_angles(plan.block_size, plan.head_size, config.rope_base);
  plan.rope_cos = std::move(all.cosines);
  plan.rope_sin = std::move(all.sines);
  plan.rope_frequencies = std::move(all.frequencies);
}

/// Whether positions have vectors that are learned.
bool learns_positions(const ModelConfig& config) {
  return config.type == "masked" ||
         (traits_of(config).qkv_source == QkvSource::projected && config.position == Position::learned);
}

void read_parameters(Plan& plan, const ModelConfig& config, Finder& finder) {
  const std::string prefix(traits_of(config).prefix);
  plan.wte = finder.matrix(prefix + "wte.weight", plan.vocab_size, plan.n_embd);
  if (learns_positions(config)) plan.wpe = finder.matrix(prefix + "wpe.weight", plan.block_size, plan.n_embd);
  for (long layer = 0; layer < plan.n_layer; ++layer) {
    const std::string name = is_transformer(config) ? prefix + "h." + std::to_string(layer) + "." : "";
    plan.blocks.push_back(block_of(plan, config, finder, name));
  }
  if (plan.final_norm && plan.norm) plan.ln_f = finder.norm(prefix + "ln_f", plan.n_embd);
  plan.head =
      finder.packed({.weight = plan.tied ? plan.wte : finder.matrix("lm_head.weight", plan.vocab_size, plan.n_embd),
                     .bias = finder.vector("lm_head.bias", plan.vocab_size),
                     .in = plan.n_embd,
                     .out = plan.vocab_size});
  plan.packed_floats = finder.packed_floats();
}

}  // namespace

std::optional<Plan> plan_of(const ModelConfig& config, std::int64_t vocab_size, const FindParameter& find,
                            std::optional<std::int64_t> numel, Packing packing, const Kernels& kernels) {
  Plan plan;
  plan.packing = packing;
  read_sizes(plan, config, vocab_size);
  is_transformer(config) ? read_transformer(plan, config) : read_teaching_model(plan, config);
  read_attention(plan, config);
  Finder finder(find, packing, kernels);
  read_parameters(plan, config, finder);
  if (!finder.found_all(numel)) return std::nullopt;
  return plan;
}

const float* position_vectors(const Plan& plan, const std::vector<const float*>& values) {
  if (plan.wpe.exists()) return plan.wpe.in(values);
  return plan.sinusoids.empty() ? nullptr : plan.sinusoids.data();
}

std::vector<const LinearPlan*> linear_layers(const Plan& plan) {
  std::vector<const LinearPlan*> layers;
  for (const BlockPlan& block : plan.blocks)
    for (const LinearPlan* layer : {&block.c_attn, &block.c_proj, &block.c_fc, &block.c_gate, &block.mlp_proj})
      if (layer->out > 0) layers.push_back(layer);
  layers.push_back(&plan.head);
  return layers;
}

}  // namespace chargpt::cpu
