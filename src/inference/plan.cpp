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
    complete_ = complete_ && found.there();
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
    layer.forward = take(layer.in, layer.out);
    if (packing_ == Packing::both) layer.backward = take(layer.out, layer.in);
    return layer;
  }
  /// Nothing is missing, and these are all `numel` numbers of the model.
  bool found_all(std::int64_t numel) const { return complete_ && numel_ == numel; }
  std::int64_t packed_floats() const { return packed_ + kernels_.slack; }

 private:
  Parameter count(const Parameter& found, std::int64_t numel) {
    complete_ = complete_ && (!found.there() || found.numel == numel);
    numel_ += found.numel;
    return found;
  }
  std::int64_t take(long rows, long columns) {
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

ActivationKind curve_of(Activation activation) {
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
struct TypeShape {
  std::string_view type;
  std::string_view prefix;  ///< of the names of what reads the ids
  Mixing mixing;
  bool mixes;  ///< tokens with one another
};
constexpr std::array shapes{TypeShape{"bigram", "", Mixing::mean, false}, TypeShape{"average", "", Mixing::mean, true},
                            TypeShape{"masked", "", Mixing::similarity, true},
                            TypeShape{"attention", "", Mixing::projected, true},
                            TypeShape{"gpt", "transformer.", Mixing::projected, true}};

const TypeShape& shape_of(const ModelConfig& config) {
  return *std::ranges::find(shapes, config.type, &TypeShape::type);
}

/// A transformer: blocks on a residual stream. Else one layer without norm and feed-forward layer, and a head.
bool is_transformer(const ModelConfig& config) {
  return config.type == "gpt";
}

/// `name`: "transformer.h.0."
BlockPlan block_of(const Plan& plan, const ModelConfig& config, Finder& finder, const std::string& name) {
  BlockPlan block;
  if (plan.mixing == Mixing::projected) {
    block.c_attn = finder.linear(name + "attn.c_attn", plan.width, 3 * plan.joined);
    if (config.output_projection) block.c_proj = finder.linear(name + "attn.c_proj", plan.joined, plan.width);
  }
  if (plan.norm) block.ln_1 = finder.norm(name + "ln_1", plan.width);
  if (!plan.feed_forward) return block;
  if (plan.norm) block.ln_2 = finder.norm(name + "ln_2", plan.width);
  block.c_fc = finder.linear(name + "mlp.c_fc", plan.width, plan.hidden);
  if (plan.gated) block.c_gate = finder.linear(name + "mlp.c_gate", plan.width, plan.hidden);
  block.mlp_proj = finder.linear(name + "mlp.c_proj", plan.hidden, plan.width);
  return block;
}

void read_sizes(Plan& plan, const ModelConfig& config, std::int64_t vocab_size) {
  plan.width = config.n_embd;
  plan.vocab = vocab_size;
  plan.block_size = config.block_size;
  plan.mixing = shape_of(config).mixing;
  const bool projected = plan.mixing == Mixing::projected;
  plan.heads = projected ? config.n_head : 1;
  plan.head_size = projected ? head_width(config) : config.n_embd;
  plan.joined = plan.heads * plan.head_size;
  plan.score_scale = projected ? static_cast<float>(score_scale(config)) : 1;
  plan.causal = config.causal;
}

void read_transformer(Plan& plan, const ModelConfig& config) {
  plan.layers = config.n_layer;
  plan.hidden = mlp_width(config);
  plan.norm = norm_of(config.norm);
  plan.post_norm = config.norm_place == NormPlace::post;
  plan.final_norm = config.final_norm;
  plan.feed_forward = config.feed_forward;
  plan.gated = config.activation == Activation::swiglu;
  plan.curve = curve_of(config.activation);
  plan.norm_eps = static_cast<float>(config.norm_eps);
  plan.tied = config.tie_weights;
}

void read_teaching_model(Plan& plan, const ModelConfig& config) {
  plan.layers = shape_of(config).mixes ? 1 : 0;
  plan.final_norm = plan.feed_forward = plan.residual = plan.tied = false;
}

void read_attention(Plan& plan, const ModelConfig& config) {
  if (plan.mixing != Mixing::projected) return;
  plan.rope = config.position == Position::rope;
  if (config.qk_norm) plan.qk_norm_eps = static_cast<float>(config.norm_eps);
  plan.dropout = {.embedding = dropout_rate(config, Place::embedding),
                  .attention = dropout_rate(config, Place::attention),
                  .attention_output = dropout_rate(config, Place::attention_output),
                  .mlp = plan.feed_forward ? dropout_rate(config, Place::mlp) : 0};
  if (config.position == Position::sinusoidal) plan.sinusoids = sinusoids(plan.block_size, plan.width);
  if (!plan.rope) return;
  Rotations all = rotations(plan.block_size, plan.head_size, config.rope_base);
  plan.cosines = std::move(all.cosines);
  plan.sines = std::move(all.sines);
  plan.frequencies = std::move(all.frequencies);
}

/// Whether positions have vectors that are learned.
bool learns_positions(const ModelConfig& config) {
  return config.type == "masked" ||
         (shape_of(config).mixing == Mixing::projected && config.position == Position::learned);
}

void read_tables(Plan& plan, const ModelConfig& config, Finder& finder) {
  plan.ngrams = ngram_tables(config, plan.vocab);
  if (plan.ngrams.empty()) return;
  plan.table_width = ngram_width(config);
  for (const NgramTable& table : plan.ngrams)
    plan.tables.push_back({.weight = finder.matrix(table.parameter, table.rows, plan.table_width)});
  if (has_ngram_projection(config))
    plan.ngram_proj =
        finder.linear("transformer.ngram_proj", plan.table_width * static_cast<long>(plan.tables.size()), plan.width);
}

void read_parameters(Plan& plan, const ModelConfig& config, Finder& finder) {
  const std::string prefix(shape_of(config).prefix);
  plan.wte = finder.matrix(prefix + "wte.weight", plan.vocab, plan.width);
  if (learns_positions(config)) plan.wpe = finder.matrix(prefix + "wpe.weight", plan.block_size, plan.width);
  read_tables(plan, config, finder);
  for (long layer = 0; layer < plan.layers; ++layer) {
    const std::string name = is_transformer(config) ? prefix + "h." + std::to_string(layer) + "." : "";
    plan.blocks.push_back(block_of(plan, config, finder, name));
  }
  if (plan.final_norm && plan.norm) plan.ln_f = finder.norm(prefix + "ln_f", plan.width);
  plan.head = finder.packed({.weight = plan.tied ? plan.wte : finder.matrix("lm_head.weight", plan.vocab, plan.width),
                             .bias = finder.vector("lm_head.bias", plan.vocab),
                             .in = plan.width,
                             .out = plan.vocab});
  plan.packed = finder.packed_floats();
}

}  // namespace

std::optional<Plan> plan_of(const ModelConfig& config, std::int64_t vocab_size, const FindParameter& find,
                            std::int64_t numel, Packing packing, const Kernels& kernels) {
  Plan plan;
  read_sizes(plan, config, vocab_size);
  is_transformer(config) ? read_transformer(plan, config) : read_teaching_model(plan, config);
  read_attention(plan, config);
  Finder finder(find, packing, kernels);
  read_parameters(plan, config, finder);
  if (!finder.found_all(numel)) return std::nullopt;
  return plan;
}

std::vector<const LinearPlan*> linear_layers(const Plan& plan) {
  std::vector<const LinearPlan*> layers;
  if (plan.ngram_proj.out > 0) layers.push_back(&plan.ngram_proj);
  for (const BlockPlan& block : plan.blocks)
    for (const LinearPlan* layer : {&block.c_attn, &block.c_proj, &block.c_fc, &block.c_gate, &block.mlp_proj})
      if (layer->out > 0) layers.push_back(layer);
  layers.push_back(&plan.head);
  return layers;
}

}  // namespace chargpt::cpu
