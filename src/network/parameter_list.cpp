#include "network/parameter_list.h"

#include <functional>
#include <numeric>
#include <utility>

#include "network/model_types.h"

namespace chargpt {
namespace {

/// Lists the parameters of one layer after the other, in the order of the modules of model/.
class Lister {
 public:
  Lister(const ModelConfig& config, std::int64_t vocab_size) : config_(config), vocab_size_(vocab_size) {}

  std::vector<ParameterInfo> list() {
    const std::string prefix = config_.type == "gpt" ? "transformer." : "";
    embedding(prefix);
    if (config_.type == "attention") attention("attn.");
    if (config_.type == "gpt") {
      for (std::int64_t layer = 0; layer < config_.n_layer; ++layer) block(prefix + "h." + std::to_string(layer) + ".");
      if (config_.final_norm) norm(prefix + "ln_f.");
    }
    head();
    return std::move(list_);
  }

 private:
  using Role = ParameterRole;

  void add(std::string name, std::vector<std::int64_t> shape, Role role, Place place) {
    list_.push_back({.name = std::move(name), .shape = std::move(shape), .role = role, .place = place});
  }

  void linear(const std::string& name, std::int64_t in, std::int64_t out, Place place) {
    add(name + "weight", {out, in}, Role::matrix, place);
    if (has_bias(config_, place)) add(name + "bias", {out}, Role::bias, place);
  }

  void embedding(const std::string& prefix) {
    add(prefix + "wte.weight", {vocab_size_, config_.n_embd}, Role::embedding, Place::embedding);
    list_.back().counts_symbols = true;
    if (config_.type == "masked" || (attends(config_) && config_.position == Position::learned))
      add(prefix + "wpe.weight", {config_.block_size, config_.n_embd}, Role::embedding, Place::embedding);
  }

  void norm(const std::string& name) {
    if (config_.norm == Norm::none) return;
    if (config_.norm_gain) add(name + "weight", {config_.n_embd}, Role::gain, Place::norm);
    if (config_.norm == Norm::layernorm && has_bias(config_, Place::norm))
      add(name + "bias", {config_.n_embd}, Role::bias, Place::norm);
  }

  void convolution(const std::string& name, Place place) {
    if (has_convolution(config_, place)) add(name, {config_.conv_width, config_.n_embd}, Role::kernel, place);
  }

  void attention(const std::string& name) {
    const std::int64_t joined = config_.n_head * head_width(config_);
    const std::size_t projections = list_.size();
    linear(name + "c_attn.", config_.n_embd, 3 * joined, Place::attention);
    list_[projections].stacked = 3;
    if (config_.output_projection) linear(name + "c_proj.", joined, config_.n_embd, Place::attention_output);
  }

  void feed_forward(const std::string& name) {
    const std::int64_t C = config_.n_embd, H = mlp_width(config_);
    linear(name + "c_fc.", C, H, Place::mlp);
    if (config_.activation == Activation::swiglu) linear(name + "c_gate.", C, H, Place::mlp);
    linear(name + "c_proj.", H, C, Place::mlp);
  }

  void block(const std::string& name) {
    norm(name + "ln_1.");
    convolution(name + "conv_1.weight", Place::attention);
    attention(name + "attn.");
    if (!config_.feed_forward) return;
    norm(name + "ln_2.");
    convolution(name + "conv_2.weight", Place::mlp);
    feed_forward(name + "mlp.");
  }

  void head() {
    const bool is_gpt = config_.type == "gpt";
    const std::size_t first = list_.size();
    if (!is_gpt || !config_.tie_weights)
      add("lm_head.weight", {vocab_size_, config_.n_embd}, Role::matrix, Place::head);
    if (!is_gpt || has_bias(config_, Place::head)) add("lm_head.bias", {vocab_size_}, Role::bias, Place::head);
    for (std::size_t i = first; i < list_.size(); ++i) list_[i].counts_symbols = true;
  }

  const ModelConfig& config_;
  std::int64_t vocab_size_;
  std::vector<ParameterInfo> list_;
};

}  // namespace

std::int64_t numel_of(const std::vector<std::int64_t>& shape) {
  return std::reduce(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies());
}

std::vector<ParameterInfo> parameter_list(const ModelConfig& config, std::int64_t vocab_size) {
  return Lister(config, vocab_size).list();
}

}  // namespace chargpt
