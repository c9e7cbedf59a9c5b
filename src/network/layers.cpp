#include "network/layers.h"

#include <functional>
#include <numeric>
#include <utility>

#include "kernels/buffers.h"
#include "network/model_types.h"

namespace chargpt {
namespace {

/// Creates the layers in the order of the modules of model/.
class Builder {
 public:
  Builder(const ModelConfig& config, std::int64_t vocab_size) : config_(config), vocab_size_(vocab_size) {}

  Layers build() {
    const bool is_gpt = config_.type == "gpt";
    const std::string prefix = is_gpt ? "transformer." : "";
    Layers layers;
    layers.tied = is_gpt && config_.tie_weights;
    layers.wte = parameter(prefix + "wte.weight", {vocab_size_, config_.n_embd}, Role::embedding, Place::embedding);
    if (config_.type == "masked" || (attends(config_) && config_.position == Position::learned))
      layers.wpe =
          parameter(prefix + "wpe.weight", {config_.block_size, config_.n_embd}, Role::embedding, Place::embedding);
    for (std::int64_t layer = 0; is_gpt && layer < config_.n_layer; ++layer)
      layers.blocks.push_back(block(prefix + "h." + std::to_string(layer) + "."));
    if (!is_gpt && config_.type != "bigram") layers.blocks.emplace_back();
    if (config_.type == "attention") attention("attn.", layers.blocks[0]);
    if (is_gpt && config_.final_norm) layers.ln_f = norm(prefix + "ln_f.");
    layers.head = linear("lm_head.", config_.n_embd, vocab_size_, Place::head, !layers.tied,
                         !is_gpt || has_bias(config_, Place::head));
    for (Parameter* parameter : {&layers.wte, &layers.head.weight, &layers.head.bias}) parameter->counts_symbols = true;
    layers.floats = end_;
    return layers;
  }

 private:
  using Role = ParameterRole;

  Parameter parameter(std::string name, std::vector<std::int64_t> shape, Role role, Place place,
                      std::int64_t fan_in = 0) {
    const std::int64_t next = cpu::rounded_up(end_ + numel_of(shape), cpu::cache_line);
    return {.name = std::move(name),
            .shape = std::move(shape),
            .role = role,
            .place = place,
            .fan_in = fan_in,
            .offset = std::exchange(end_, next)};
  }

  LinearParameters linear(const std::string& name, std::int64_t in, std::int64_t out, Place place, bool weight,
                          bool bias) {
    LinearParameters layer;
    layer.in = in;
    layer.out = out;
    if (weight) layer.weight = parameter(name + "weight", {out, in}, Role::matrix, place, in);
    if (bias) layer.bias = parameter(name + "bias", {out}, Role::bias, place, in);
    return layer;
  }
  LinearParameters linear(const std::string& name, std::int64_t in, std::int64_t out, Place place) {
    return linear(name, in, out, place, true, has_bias(config_, place));
  }

  NormParameters norm(const std::string& name) {
    NormParameters layer;
    const bool bias = config_.norm == Norm::layernorm && has_bias(config_, Place::norm);
    if (config_.norm == Norm::none) return layer;
    if (config_.norm_gain) layer.gain = parameter(name + "weight", {config_.n_embd}, Role::gain, Place::norm);
    if (bias) layer.bias = parameter(name + "bias", {config_.n_embd}, Role::bias, Place::norm);
    return layer;
  }

  Parameter convolution(const std::string& name, Place place) {
    if (!has_convolution(config_, place)) return {};
    return parameter(name, {config_.conv_width, config_.n_embd}, Role::kernel, place);
  }

  void attention(const std::string& name, BlockParameters& block) {
    const std::int64_t joined = config_.n_head * head_width(config_);
    block.c_attn = linear(name + "c_attn.", config_.n_embd, 3 * joined, Place::attention);
    block.c_attn.weight.stacked = 3;
    if (config_.output_projection)
      block.c_proj = linear(name + "c_proj.", joined, config_.n_embd, Place::attention_output);
  }

  BlockParameters block(const std::string& name) {
    const std::int64_t C = config_.n_embd, H = mlp_width(config_);
    BlockParameters block;
    block.ln_1 = norm(name + "ln_1.");
    block.conv_1 = convolution(name + "conv_1.weight", Place::attention);
    attention(name + "attn.", block);
    if (!config_.feed_forward) return block;
    block.ln_2 = norm(name + "ln_2.");
    block.conv_2 = convolution(name + "conv_2.weight", Place::mlp);
    block.c_fc = linear(name + "mlp.c_fc.", C, H, Place::mlp);
    if (config_.activation == Activation::swiglu) block.c_gate = linear(name + "mlp.c_gate.", C, H, Place::mlp);
    block.mlp_proj = linear(name + "mlp.c_proj.", H, C, Place::mlp);
    return block;
  }

  const ModelConfig& config_;
  std::int64_t vocab_size_;
  std::int64_t end_ = 0;  ///< offset after the last parameter
};

}  // namespace

std::int64_t numel_of(const std::vector<std::int64_t>& shape) {
  return std::reduce(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies());
}

Layers layers_of(const ModelConfig& config, std::int64_t vocab_size) {
  return Builder(config, vocab_size).build();
}

std::vector<Parameter> parameter_list(const Layers& layers) {
  std::vector<Parameter> list;
  for_each_parameter(layers, [&list](const Parameter& parameter) { list.push_back(parameter); });
  return list;
}

}  // namespace chargpt
