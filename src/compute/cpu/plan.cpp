#include "compute/cpu/plan.h"

#include <cmath>
#include <functional>
#include <initializer_list>
#include <utility>

#include "model/attention.h"
#include "model/layers.h"

namespace chargpt::cpu {
namespace {

Parameter find(const ParameterArena& arena, const std::string& name) {
  for (std::size_t g = 0; g < arena.groups().size(); ++g)
    for (const ParameterSlot& slot : arena.groups()[g].slots)
      if (slot.name == name) return {.group = static_cast<int>(g), .offset = slot.offset, .numel = slot.numel};
  return {};
}

/// Reads parameters by name and counts them, so that one that nobody asked for is noticed, and one that is not there.
class Finder {
 public:
  using Find = std::function<Parameter(const std::string& name)>;
  /// `backward`: packed weights have room for both orders.
  Finder(Find find, bool backward, const Kernels& kernels)
      : find_(std::move(find)), backward_(backward), kernels_(kernels) {}

  Parameter parameter(const std::string& name) {
    const Parameter found = find_(name);
    numel_ += found.numel;
    return found;
  }
  NormPlan norm(const std::string& name) { return {parameter(name + ".weight"), parameter(name + ".bias")}; }
  LinearPlan linear(const std::string& name, long in, long out) {
    return packed(
        {.weight = weight(name + ".weight", in * out), .bias = parameter(name + ".bias"), .in = in, .out = out});
  }
  /// A weight that must be there, whole.
  Parameter weight(const std::string& name, std::int64_t numel) {
    const Parameter found = parameter(name);
    complete_ = complete_ && found.there() && found.numel == numel;
    return found;
  }
  LinearPlan packed(LinearPlan layer) {
    layer.forward = take(layer.in, layer.out);
    if (backward_) layer.backward = take(layer.out, layer.in);
    return layer;
  }
  /// Nothing is missing, and these are all `numel` numbers of the model.
  bool found_all(std::int64_t numel) const { return complete_ && numel_ == numel; }
  std::int64_t packed_floats() const { return packed_ + kernels_.slack; }

 private:
  std::int64_t take(long rows, long columns) {
    const std::int64_t begin = packed_;
    packed_ += (columns + kernels_.panel - 1) / kernels_.panel * kernels_.panel * rows;
    return begin;
  }

  Find find_;
  bool backward_;
  const Kernels& kernels_;
  std::int64_t numel_ = 0, packed_ = 0;
  bool complete_ = true;
};

Curve curve_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return Curve::gelu;
    case Activation::gelu_tanh:
      return Curve::gelu_tanh;
    case Activation::relu:
      return Curve::relu;
    case Activation::relu2:
      return Curve::relu2;
    case Activation::swiglu:
      return Curve::silu;
  }
  return Curve::gelu;
}

std::optional<RowNorm> norm_of(Norm norm) {
  switch (norm) {
    case Norm::layernorm:
      return RowNorm::layernorm;
    case Norm::rmsnorm:
      return RowNorm::rmsnorm;
    case Norm::none:
      return std::nullopt;
  }
  return std::nullopt;
}

float score_scale_of(const ModelConfig& config) {
  switch (config.attention_scale) {
    case AttentionScale::head:
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_width(config))));
    case AttentionScale::width:
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.n_embd)));
    case AttentionScale::none:
      return 1;
  }
  return 1;
}

std::vector<float> floats_of(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.to(torch::kFloat32).contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

BlockPlan block_of(const Plan& plan, const ModelConfig& config, Finder& finder, const std::string& name) {
  BlockPlan block;
  block.ln_1 = finder.norm(name + ".ln_1");
  block.c_attn = finder.linear(name + ".attn.c_attn", plan.width, 3 * plan.joined);
  if (config.output_projection) block.c_proj = finder.linear(name + ".attn.c_proj", plan.joined, plan.width);
  if (!plan.feed_forward) return block;
  block.ln_2 = finder.norm(name + ".ln_2");
  block.c_fc = finder.linear(name + ".mlp.c_fc", plan.width, plan.hidden);
  if (plan.gated) block.c_gate = finder.linear(name + ".mlp.c_gate", plan.width, plan.hidden);
  block.mlp_proj = finder.linear(name + ".mlp.c_proj", plan.hidden, plan.width);
  return block;
}

void read_options(Plan& plan, const ModelConfig& config, std::int64_t vocab_size) {
  plan.layers = config.n_layer;
  plan.heads = config.n_head;
  plan.head_size = head_width(config);
  plan.width = config.n_embd;
  plan.joined = plan.heads * plan.head_size;
  plan.hidden = mlp_width(config);
  plan.vocab = vocab_size;
  plan.block_size = config.block_size;
  plan.norm = norm_of(config.norm);
  plan.final_norm = config.final_norm;
  plan.feed_forward = config.feed_forward;
  plan.gated = config.activation == Activation::swiglu;
  plan.rope = config.position == Position::rope;
  if (config.qk_norm) plan.qk_norm_eps = static_cast<float>(config.norm_eps);
  plan.curve = curve_of(config.activation);
  plan.norm_eps = static_cast<float>(config.norm_eps);
  plan.score_scale = score_scale_of(config);
  plan.tied = config.tie_weights;
  plan.dropout = {.embedding = dropout_rate(config, Place::embedding),
                  .attention = dropout_rate(config, Place::attention),
                  .attention_output = dropout_rate(config, Place::attention_output),
                  .mlp = plan.feed_forward ? dropout_rate(config, Place::mlp) : 0};
}

void read_positions(Plan& plan, const ModelConfig& config) {
  if (config.position == Position::sinusoidal)
    plan.sinusoids = floats_of(sinusoidal_table(plan.block_size, plan.width));
  if (!plan.rope) return;
  const torch::Tensor angles = rotary_angles(plan.block_size, plan.head_size, config.rope_base);
  plan.cosines = floats_of(angles.cos());
  plan.sines = floats_of(angles.sin());
  const torch::Tensor first = rotary_angles(1, plan.head_size, config.rope_base, 1);
  plan.frequencies.assign(first.const_data_ptr<double>(), first.const_data_ptr<double>() + first.numel());
}

std::string first_reason_against(const ModelConfig& config) {
  if (config.type != "gpt") return "model.type = " + config.type;
  if (config.norm_place != NormPlace::pre) return "model.norm_place = " + std::string(enum_name(config.norm_place));
  return {};
}

std::string first_reason_against(const ParameterArena& arena, const TrainConfig& train) {
  if (train.dtype == Dtype::bfloat16 && half_kernels() == nullptr)
    return "train.dtype = bfloat16 on a processor without AVX512_BF16";
  for (const ParameterGroup& group : arena.groups()) {
    if (!group.values.is_cpu()) return "device " + group.values.device().str();
    if (group.row_sparse && !group.slots.front().name.starts_with("transformer.ngram."))
      return "train.groups: optimizer = " + std::string(enum_name(group.rule)) + " of " + group.slots.front().name;
  }
  return {};
}

void read_tables(Plan& plan, const ModelConfig& config, Finder& finder) {
  plan.ngrams = ngram_tables(config, plan.vocab);
  if (plan.ngrams.empty()) return;
  plan.table_width = ngram_width(config);
  for (const NgramTable& table : plan.ngrams)
    plan.tables.push_back({.weight = finder.weight(table.parameter, table.rows * plan.table_width)});
  if (has_ngram_projection(config))
    plan.ngram_proj =
        finder.linear("transformer.ngram_proj", plan.table_width * static_cast<long>(plan.tables.size()), plan.width);
}

Plan read_plan(const LanguageModel& model, Finder& finder) {
  const ModelConfig& config = model.config();
  Plan plan;
  read_options(plan, config, model.vocab_size());
  read_positions(plan, config);
  plan.wte = finder.weight("transformer.wte.weight", plan.vocab * plan.width);
  plan.wpe = finder.parameter("transformer.wpe.weight");
  read_tables(plan, config, finder);
  for (long layer = 0; layer < plan.layers; ++layer)
    plan.blocks.push_back(block_of(plan, config, finder, "transformer.h." + std::to_string(layer)));
  plan.ln_f = finder.norm("transformer.ln_f");
  plan.head = finder.packed({.weight = plan.tied ? plan.wte : finder.weight("lm_head.weight", plan.vocab * plan.width),
                             .bias = finder.parameter("lm_head.bias"),
                             .in = plan.width,
                             .out = plan.vocab});
  plan.packed = finder.packed_floats();
  return plan;
}

constexpr const char* unknown_parameter = "parameters that are not those of its options";

}  // namespace

std::optional<Plan> plan_of(const LanguageModel& model, const ParameterArena& arena, const TrainConfig& train,
                            const Kernels& kernels, std::string& why_not) {
  why_not = first_reason_against(model.config());
  if (why_not.empty()) why_not = first_reason_against(arena, train);
  if (!why_not.empty()) return std::nullopt;
  Finder finder([&arena](const std::string& name) { return find(arena, name); }, /*backward=*/true, kernels);
  Plan plan = read_plan(model, finder);
  if (train.dtype == Dtype::bfloat16) plan.half = half_kernels();
  for (TablePlan& table : plan.tables)
    table.row_sparse = arena.groups()[static_cast<std::size_t>(table.weight.group)].row_sparse;
  if (finder.found_all(arena.numel())) return plan;
  why_not = unknown_parameter;
  return std::nullopt;
}

std::optional<Plan> forward_plan_of(const LanguageModel& model, const Kernels& kernels,
                                    std::vector<const float*>& values, std::string& why_not) {
  why_not = first_reason_against(model.config());
  if (!why_not.empty()) return std::nullopt;
  const auto parameters = model.named_parameters();
  values.clear();
  for (const auto& parameter : parameters) {
    const torch::Tensor& tensor = parameter.value();
    if (!tensor.is_cpu() || tensor.scalar_type() != torch::kFloat32 || !tensor.is_contiguous()) {
      why_not = parameter.key() + " is not float32 in the CPU's memory";
      return std::nullopt;
    }
    values.push_back(tensor.const_data_ptr<float>());
  }
  const auto find = [&parameters](const std::string& name) -> Parameter {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].key() == name)
        return {.group = static_cast<int>(i), .offset = 0, .numel = parameters[i].value().numel()};
    return {};
  };
  Finder finder(find, /*backward=*/false, kernels);
  Plan plan = read_plan(model, finder);
  if (finder.found_all(model.parameter_count())) return plan;
  why_not = unknown_parameter;
  return std::nullopt;
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
