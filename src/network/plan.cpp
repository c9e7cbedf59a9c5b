#include "network/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "network/model_types.h"
#include "network/parameter_list.h"

namespace chargpt::cpu {
namespace {

/// Finds parameters by name, and gives packed matrices their places.
class Finder {
 public:
  Finder(const std::vector<ParameterInfo>& list, std::span<const Parameter> places, Packing packing,
         const Kernels& kernels)
      : packing_(packing), kernels_(kernels) {
    for (std::size_t i = 0; i < list.size(); ++i) found_[list[i].name] = {&list[i], places[i]};
  }

  /// Absent where the model has none of that name.
  Parameter parameter(const std::string& name) const {
    const auto found = found_.find(name);
    return found == found_.end() ? Parameter() : found->second.place;
  }
  NormPlan norm(const std::string& name) const { return {parameter(name + ".weight"), parameter(name + ".bias")}; }
  /// `out` 0 where the model has none of that name.
  LinearPlan linear(const std::string& name) {
    const auto found = found_.find(name + ".weight");
    if (found == found_.end()) return {};
    const std::vector<std::int64_t>& shape = found->second.info->shape;
    return packed({.weight = found->second.place, .bias = parameter(name + ".bias"), .in = shape[1], .out = shape[0]});
  }
  LinearPlan packed(LinearPlan layer) {
    layer.packed_forward = place_of_packed(layer.in, layer.out);
    if (packing_ == Packing::both) layer.packed_backward = place_of_packed(layer.out, layer.in);
    return layer;
  }
  std::int64_t packed_floats() const { return packed_ + kernels_.slack; }

 private:
  std::int64_t place_of_packed(long rows, long columns) {
    const std::int64_t begin = packed_;
    packed_ += rounded_up(columns, kernels_.panel_width) * rows;
    return begin;
  }

  struct Found {
    const ParameterInfo* info = nullptr;
    Parameter place;
  };
  std::map<std::string, Found> found_;
  Packing packing_;
  const Kernels& kernels_;
  std::int64_t packed_ = 0;
};

ActivationKind activation_of(Activation activation) {
  using enum ActivationKind;
  constexpr std::array kinds = {gelu, gelu_tanh, relu, relu2, silu};  // of swiglu the gate's
  static_assert(kinds.size() == std::size(EnumNames<Activation>::names));
  return kinds[static_cast<std::size_t>(activation)];
}

std::optional<NormKind> norm_of(Norm norm) {
  if (norm == Norm::none) return std::nullopt;
  return norm == Norm::layernorm ? NormKind::layernorm : NormKind::rmsnorm;
}

QkvSource qkv_source_of(const ModelConfig& config) {
  if (config.type == "masked") return QkvSource::input;
  return attends(config) ? QkvSource::projected : QkvSource::uniform;
}

/// A transformer: blocks on a residual stream. Else one layer without norm and feed-forward layer, and a head.
bool is_transformer(const ModelConfig& config) {
  return config.type == "gpt";
}

/// 1 / base^(2i/width) for i < count: the angles of position 1. In double, as all angles: in float32 they are wrong by
/// whole degrees at positions in the thousands.
std::vector<double> position_frequencies(std::int64_t count, std::int64_t width, double base) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < count; ++i)
    frequencies.push_back(std::pow(base, static_cast<double>(i) * (-2.0 / static_cast<double>(width))));
  return frequencies;
}

/// `name`: "transformer.h.0."
BlockPlan block_of(Finder& finder, const std::string& name) {
  return {.ln_1 = finder.norm(name + "ln_1"),
          .ln_2 = finder.norm(name + "ln_2"),
          .conv_1 = finder.parameter(name + "conv_1.weight"),
          .conv_2 = finder.parameter(name + "conv_2.weight"),
          .c_attn = finder.linear(name + "attn.c_attn"),
          .c_proj = finder.linear(name + "attn.c_proj"),
          .c_fc = finder.linear(name + "mlp.c_fc"),
          .c_gate = finder.linear(name + "mlp.c_gate"),
          .mlp_proj = finder.linear(name + "mlp.c_proj")};
}

void read_sizes(Plan& plan, const ModelConfig& config, std::int64_t vocab_size) {
  plan.n_embd = config.n_embd;
  plan.vocab_size = vocab_size;
  plan.block_size = config.block_size;
  plan.qkv_source = qkv_source_of(config);
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
  plan.post_norm = plan.norm && config.norm_place == NormPlace::post;
  plan.final_norm = config.final_norm && plan.norm;
  plan.feed_forward = config.feed_forward;
  plan.swiglu = config.activation == Activation::swiglu;
  plan.activation = activation_of(config.activation);
  plan.norm_eps = static_cast<float>(config.norm_eps);
  plan.tied = config.tie_weights;
}

void read_teaching_model(Plan& plan, const ModelConfig& config) {
  plan.n_layer = config.type == "bigram" ? 0 : 1;  // which attends to no other token
  plan.final_norm = plan.feed_forward = plan.residual = plan.tied = false;
}

void read_attention(Plan& plan, const ModelConfig& config) {
  if (plan.qkv_source != QkvSource::projected) return;
  plan.rope = config.position == Position::rope;
  if (config.qk_norm) plan.qk_norm_eps = static_cast<float>(config.norm_eps);
  plan.dropout.rates = {dropout_rate(config, Place::embedding), dropout_rate(config, Place::attention),
                        dropout_rate(config, Place::attention_output),
                        plan.feed_forward ? dropout_rate(config, Place::mlp) : 0};
  if (config.position == Position::sinusoidal) plan.sinusoids = sinusoids(plan.block_size, plan.n_embd);
  if (plan.rope) plan.rotations = rope_angles(plan.block_size, plan.head_size, config.rope_base);
}

void read_parameters(Plan& plan, const ModelConfig& config, Finder& finder) {
  const std::string prefix = is_transformer(config) ? "transformer." : "";
  plan.wte = finder.parameter(prefix + "wte.weight");
  plan.wpe = finder.parameter(prefix + "wpe.weight");
  for (long layer = 0; layer < plan.n_layer; ++layer)
    plan.blocks.push_back(block_of(finder, is_transformer(config) ? prefix + "h." + std::to_string(layer) + "." : ""));
  plan.ln_f = finder.norm(prefix + "ln_f");
  plan.head = finder.packed({.weight = plan.tied ? plan.wte : finder.parameter("lm_head.weight"),
                             .bias = finder.parameter("lm_head.bias"),
                             .in = plan.n_embd,
                             .out = plan.vocab_size});
  plan.packed_floats = finder.packed_floats();
}

}  // namespace

std::vector<float> sinusoids(std::int64_t positions, std::int64_t width, double base) {
  const std::vector<double> frequencies = position_frequencies((width + 1) / 2, width, base);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(positions * width));
  for (std::int64_t position = 0; position < positions; ++position)
    for (std::int64_t column = 0; column < width; ++column) {
      const double angle = static_cast<double>(position) * frequencies[static_cast<std::size_t>(column / 2)];
      values.push_back(static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return values;
}

RopeAngles rope_angles(std::int64_t positions, std::int64_t head_size, double base) {
  RopeAngles all;
  all.frequencies = position_frequencies(head_size / 2, head_size, base);
  for (std::int64_t position = 0; position < positions; ++position)
    for (const double frequency : all.frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      all.cosines.push_back(static_cast<float>(std::cos(angle)));
      all.sines.push_back(static_cast<float>(std::sin(angle)));
    }
  return all;
}

std::uint32_t DropoutPlan::mask_index(Place place, long layer) const {
  const auto acting = [this](std::size_t begin, std::size_t end) {
    return std::count_if(rates.begin() + begin, rates.begin() + end, [](double rate) { return rate > 0; });
  };
  return static_cast<std::uint32_t>(acting(0, static_cast<std::size_t>(place)) + layer * acting(1, rates.size()));
}

Plan plan_of(const ModelConfig& config, std::int64_t vocab_size, std::span<const Parameter> places, Packing packing,
             const Kernels& kernels) {
  Plan plan;
  plan.kernels = &kernels;
  plan.packing = packing;
  read_sizes(plan, config, vocab_size);
  is_transformer(config) ? read_transformer(plan, config) : read_teaching_model(plan, config);
  read_attention(plan, config);
  const std::vector<ParameterInfo> list = parameter_list(config, vocab_size);
  if (list.size() != places.size())
    throw Error(ExitCode::internal, "a place for each parameter of the model is needed");
  Finder finder(list, places, packing, kernels);
  read_parameters(plan, config, finder);
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

void pack_weights(const Plan& plan, const ModelWeights& weights, const Bf16Kernels* bf16, int part, int parts) {
  const long panel_width = bf16 != nullptr ? bf16->panel_width : plan.kernels->panel_width;
  // B (K, N) of a matmul; `transposed`: weight is (N, K).
  const auto pack = [&](const float* weight, long K, long N, bool transposed, std::int64_t place) {
    const long panels = (N + panel_width - 1) / panel_width;
    const long first = panels * part / parts, last = panels * (part + 1) / parts;
    float* const packed = weights.packed.data() + place;
    if (bf16 != nullptr)
      bf16->pack(first, last, K, N, weight, transposed, reinterpret_cast<Bf16*>(packed));
    else
      plan.kernels->pack(first, last, K, N, weight, transposed, packed);
  };
  for (const LinearPlan* layer : linear_layers(plan)) {
    const float* const weight = layer->weight.in(weights.values);
    pack(weight, layer->in, layer->out, /*transposed=*/true, layer->packed_forward);
    if (plan.packing == Packing::both)
      pack(weight, layer->out, layer->in, /*transposed=*/false, layer->packed_backward);
  }
}

}  // namespace chargpt::cpu
