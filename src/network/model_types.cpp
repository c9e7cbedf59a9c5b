#include "network/model_types.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "network/layers.h"

namespace chargpt {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ExitCode::usage, parts...);
}

void check_type(const ModelConfig& config) {
  const std::vector<std::string>& types = model_types();
  if (std::ranges::find(types, config.type) != types.end()) return;
  refuse("model.type = \"", config.type, "\" is not one of ", joined(types, ", "), did_you_mean(config.type, types));
}

/// The divisors of `n` closest to `wanted`, below and above: "4 or 8 would".
std::string dividing(std::int64_t n, std::int64_t wanted) {
  std::int64_t below = std::min(wanted, n), above = wanted;
  while (n % below != 0) --below;
  while (above <= n && n % above != 0) ++above;
  std::string text = std::to_string(below);
  if (above <= n && above != below) text += " or " + std::to_string(above);
  return text + " would";
}

void check_heads(const ModelConfig& config) {
  if (config.head_size == 0 && config.n_embd % config.n_head != 0)
    refuse("model.n_head = ", config.n_head, " does not divide model.n_embd = ", config.n_embd, "; ",
           dividing(config.n_embd, config.n_head));
  const std::int64_t head_size = head_width(config), joined = config.n_head * head_size;
  if (!config.output_projection && joined != config.n_embd)
    refuse("model.output_projection = false, but ", config.n_head, " heads of model.head_size = ", head_size,
           " have width ", joined, ", not model.n_embd = ", config.n_embd,
           "; set output_projection to true, or head_size to 0");
  if (config.position == Position::rope && head_size % 2 != 0)
    refuse("model.position = rope rotates pairs of features, but head_size is ", head_size,
           "; make model.head_size (or n_embd / n_head) even");
}

void check_places(const Places& places, const std::string& option, const Places& allowed) {
  for (const Place place : places) {
    if (std::ranges::find(allowed, place) != allowed.end()) continue;
    std::string list;
    for (const Place one : allowed) list += (list.empty() ? "" : ", ") + std::string(enum_name(one));
    refuse("model.", option, " contains ", enum_name(place), "; use only ", list);
  }
}

void check_convolutions(const ModelConfig& config) {
  if (config.type != "gpt" && !config.conv_places.empty())
    refuse("model.conv_places needs model.type = gpt, not ", config.type, "; remove it");
  check_places(config.conv_places, "conv_places", {Place::attention, Place::mlp});
  if (!config.feed_forward && has_convolution(config, Place::mlp))
    refuse("model.conv_places contains mlp, but model.feed_forward = false removes that layer; remove mlp");
}

}  // namespace

const std::vector<std::string>& model_types() {
  static const std::vector<std::string> types{"bigram", "average", "masked", "attention", "gpt"};
  return types;
}

void check_model_config(const ModelConfig& config) {
  check_type(config);
  check_places(config.bias_places, "bias_places",
               {Place::attention, Place::attention_output, Place::mlp, Place::norm, Place::head});
  check_places(config.dropout_places, "dropout_places",
               {Place::embedding, Place::attention, Place::attention_output, Place::mlp});
  if (!config.causal && config.type != "average")
    refuse("model.causal = false needs model.type = average, not ", config.type, "; remove it, or set it to true");
  if (attends(config)) check_heads(config);
  check_convolutions(config);
}

std::int64_t count_parameters(const ModelConfig& config, std::int64_t vocab_size) {
  check_type(config);
  std::int64_t count = 0;
  for (const Parameter& parameter : parameter_list(config, vocab_size)) count += parameter.numel();
  return count;
}

bool leaks(const ModelConfig& config) {
  return config.type == "average" && !config.causal;
}

bool can_slide(const ModelConfig& config) {
  return attends(config) && (config.position == Position::rope || config.position == Position::none);
}

bool attends(const ModelConfig& config) {
  return config.type == "attention" || config.type == "gpt";
}

std::int64_t head_width(const ModelConfig& config) {
  return config.head_size != 0 ? config.head_size : config.n_embd / config.n_head;
}

std::int64_t mlp_width(const ModelConfig& config) {
  return config.mlp_size != 0 ? config.mlp_size : 4 * config.n_embd;
}

bool has_bias(const ModelConfig& config, Place place) {
  return config.bias && std::ranges::find(config.bias_places, place) != config.bias_places.end();
}

bool has_convolution(const ModelConfig& config, Place place) {
  return std::ranges::find(config.conv_places, place) != config.conv_places.end();
}

double dropout_rate(const ModelConfig& config, Place place) {
  return std::ranges::find(config.dropout_places, place) != config.dropout_places.end() ? config.dropout : 0.0;
}

double score_scale(const ModelConfig& config) {
  if (config.attention_scale == AttentionScale::none) return 1.0;
  const std::int64_t features = config.attention_scale == AttentionScale::head ? head_width(config) : config.n_embd;
  return 1.0 / std::sqrt(static_cast<double>(features));
}

}  // namespace chargpt
