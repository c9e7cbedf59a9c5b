#include "network/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/names.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"

namespace chargpt::cpu {
namespace {

ActivationKind activation_of(Activation activation) {
  using enum ActivationKind;
  constexpr std::array kinds = {gelu, gelu_tanh, relu, relu2, silu};  // for swiglu, the activation of its gate
  static_assert(kinds.size() == std::size_t{1} + static_cast<std::size_t>(Activation::swiglu));
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

/// 1 / base^(2i/width) for i < count: the angles at position 1. All angles are double: in float32 they are wrong by
/// whole degrees at positions in the thousands.
std::vector<double> position_frequencies(std::int64_t count, std::int64_t width, double base) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < count; ++i)
    frequencies.push_back(std::pow(base, static_cast<double>(i) * (-2.0 / static_cast<double>(width))));
  return frequencies;
}

/// A transformer has blocks on a residual stream. Other types have one layer without norm or MLP, and a head.
void read_transformer(Plan& plan, const ModelConfig& config) {
  plan.mlp_width = mlp_width(config);
  plan.conv_width = config.conv_places.empty() ? 0 : config.conv_width;
  plan.residual = true;
  plan.norm = norm_of(config.norm);
  plan.post_norm = plan.norm && config.norm_place == NormPlace::post;
  plan.final_norm = config.final_norm && plan.norm;
  plan.feed_forward = config.feed_forward;
  plan.swiglu = config.activation == Activation::swiglu;
  plan.activation = activation_of(config.activation);
  plan.norm_eps = static_cast<float>(config.norm_eps);
}

void read_attention(Plan& plan, const ModelConfig& config) {
  plan.n_head = config.n_head;
  plan.head_size = head_width(config);
  plan.score_scale = static_cast<float>(score_scale(config));
  plan.rope = config.position == Position::rope;
  if (config.qk_norm) plan.qk_norm_eps = static_cast<float>(config.norm_eps);
  plan.dropout.rates = {dropout_rate(config, Place::embedding), dropout_rate(config, Place::attention),
                        dropout_rate(config, Place::attention_output),
                        plan.feed_forward ? dropout_rate(config, Place::mlp) : 0};
  if (config.position == Position::sinusoidal) plan.sinusoids = sinusoids(plan.block_size, plan.n_embd);
  if (plan.rope) plan.rotations = rope_angles(plan.block_size, plan.head_size, config.rope_base);
}

/// Sets the offsets of the packed weights: W^T of every layer in the order of the forward pass, then W for backward.
void place_packed_weights(Plan& plan) {
  std::int64_t end = 0;
  const auto place = [&](long rows, long columns) {
    return std::exchange(end, end + rounded_up(columns, plan.kernels->panel_width) * rows);
  };
  for_each_linear(plan, [&](LinearParameters& layer) { layer.packed_forward = place(layer.in, layer.out); });
  if (plan.packing == Packing::both)
    for_each_linear(plan, [&](LinearParameters& layer) { layer.packed_backward = place(layer.out, layer.in); });
  plan.packed_floats = end + plan.kernels->slack;
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

void RopeAngles::set(std::int64_t first, std::int64_t count) {
  for (std::vector<float>* const table : {&cosines, &sines}) {
    table->clear();
    table->reserve(static_cast<std::size_t>(count) * frequencies.size());  // refused at once if it cannot fit
  }
  for (std::int64_t position = first; position < first + count; ++position)
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
}

RopeAngles rope_angles(std::int64_t positions, std::int64_t head_size, double base) {
  RopeAngles all{.frequencies = position_frequencies(head_size / 2, head_size, base)};
  all.set(0, positions);
  return all;
}

std::uint32_t DropoutPlan::mask_index(Place place, long layer) const {
  const auto acting = [this](std::size_t begin, std::size_t end) {
    return std::count_if(rates.begin() + begin, rates.begin() + end, [](double rate) { return rate > 0; });
  };
  return static_cast<std::uint32_t>(acting(0, static_cast<std::size_t>(place)) + layer * acting(1, rates.size()));
}

Plan plan_of(const ModelConfig& config, std::int64_t vocab_size, Packing packing, const TrainConfig* groups) {
  Plan plan;
  static_cast<Layers&>(plan) = layers_of(config, vocab_size);
  plan.kernels = &kernels();
  plan.packing = packing;
  plan.n_layer = std::ssize(plan.blocks);
  plan.n_embd = plan.head_size = config.n_embd;
  plan.vocab_size = vocab_size;
  plan.block_size = config.block_size;
  plan.qkv_source = qkv_source_of(config);
  plan.causal = config.causal;
  if (config.type == "gpt") read_transformer(plan, config);
  if (plan.qkv_source == QkvSource::projected) read_attention(plan, config);
  plan.attention_width = plan.n_head * plan.head_size;
  if (groups != nullptr) {
    std::vector<Parameter> list = parameter_list(plan);
    plan.floats = lay_out(list, config.decay, *groups).back().end;
    auto next = list.begin();
    for_each_parameter(plan, [&next](Parameter& own) { own = *next++; });
  }
  if (plan.tied) plan.head.weight = plan.wte;
  place_packed_weights(plan);
  return plan;
}

const float* position_vectors(const Plan& plan, const float* values) {
  if (plan.wpe.exists()) return plan.wpe.at(values);
  return plan.sinusoids.empty() ? nullptr : plan.sinusoids.data();
}

void pack_weights(const Plan& plan, const ModelWeights& weights, int part, int parts) {
  const Bf16Kernels* const bf16 = plan.bf16;
  const long panel_width = bf16 != nullptr ? bf16->panel_width : plan.kernels->panel_width;
  // Packs B (K, N) of a matmul; `transposed`: weight is (N, K).
  const auto pack = [&](const float* weight, long K, long N, bool transposed, std::int64_t place) {
    const long panels = (N + panel_width - 1) / panel_width;
    const long first = panels * part / parts, last = panels * (part + 1) / parts;
    float* const packed = weights.packed.data() + place;
    if (bf16 != nullptr)
      bf16->pack(first, last, K, N, weight, transposed, reinterpret_cast<Bf16*>(packed));
    else
      plan.kernels->pack(first, last, K, N, weight, transposed, packed);
  };
  for_each_linear(plan, [&](const LinearParameters& layer) {
    pack(layer.weight.at(weights.values), layer.in, layer.out, /*transposed=*/true, layer.packed_forward);
  });
  if (plan.packing == Packing::both)
    for_each_linear(plan, [&](const LinearParameters& layer) {
      pack(layer.weight.at(weights.values), layer.out, layer.in, /*transposed=*/false, layer.packed_backward);
    });
}

}  // namespace chargpt::cpu
