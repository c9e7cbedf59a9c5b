#include "inference/model_types.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "inference/dimensions.h"

namespace chargpt {
namespace {

std::int64_t count_head(const ModelConfig& config, std::int64_t vocab_size) {
  return (config.n_embd + 1) * vocab_size;
}

std::int64_t count_bigram(const ModelConfig& config, std::int64_t vocab_size) {
  return vocab_size * config.n_embd + count_head(config, vocab_size);
}

std::int64_t count_masked(const ModelConfig& config, std::int64_t vocab_size) {
  return (vocab_size + config.block_size) * config.n_embd + count_head(config, vocab_size);
}

std::int64_t count_attention_model(const ModelConfig& config, std::int64_t vocab_size) {
  return count_input_embedding(config, vocab_size) + count_attention(config) + count_head(config, vocab_size);
}

std::int64_t count_gpt(const ModelConfig& config, std::int64_t vocab_size) {
  const std::int64_t final_norm = config.final_norm ? count_norm(config) : 0;
  const std::int64_t head =
      (config.tie_weights ? 0 : vocab_size * config.n_embd) + (has_bias(config, Place::head) ? vocab_size : 0);
  return count_input_embedding(config, vocab_size) + config.n_layer * count_block(config) + final_norm + head;
}

constexpr std::array types{
    ModelType{"bigram", "what comes next depends on this symbol alone: a table of pairs, learned as two matrices",
              count_bigram},
    ModelType{"average", "context as the plain mean of what was seen: order and content of the past are lost",
              count_bigram},
    ModelType{"masked",
              "weights from similarity, x times x: without learned queries and keys a token finds only itself",
              count_masked},
    ModelType{"attention", "learned queries, keys and values: each head decides what to look for, and what to pass on",
              count_attention_model},
    ModelType{"gpt",
              "attention and feed-forward layers take turns on a residual stream: depth makes features of features",
              count_gpt},
};

[[noreturn]] void refuse(const std::string& line) {
  throw Error(ExitCode::usage, line);
}

const ModelType& type_of(const ModelConfig& config) {
  const auto found = std::ranges::find(types, config.type, &ModelType::name);
  if (found != types.end()) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const auto& type : types) {
    names.emplace_back(type.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto nearest = nearest_name(config.type, names);
  refuse("model.type = \"" + config.type + "\" is not one of " + list +
         (nearest ? "; did you mean " + *nearest + "?" : ""));
}

/// The divisors of `n` next to `wanted`, below and above: "4 or 8 would".
std::string dividing(std::int64_t n, std::int64_t wanted) {
  std::int64_t below = std::min(wanted, n), above = wanted;
  while (n % below != 0) --below;
  while (above <= n && n % above != 0) ++above;
  std::string text = std::to_string(below);
  if (above <= n && above != below) text += " or " + std::to_string(above);
  return text + " would";
}

void check_heads(const ModelConfig& config) {
  const std::string n_head = std::to_string(config.n_head), n_embd = std::to_string(config.n_embd);
  if (config.head_size == 0 && config.n_embd % config.n_head != 0)
    refuse("model.n_head = " + n_head + " does not divide model.n_embd = " + n_embd + "; " +
           dividing(config.n_embd, config.n_head));
  const std::int64_t head_size = head_width(config), joined = config.n_head * head_size;
  if (!config.output_projection && joined != config.n_embd)
    refuse("model.output_projection = false, but " + n_head +
           " heads of model.head_size = " + std::to_string(head_size) + " join to " + std::to_string(joined) +
           ", not to model.n_embd = " + n_embd + "; set output_projection to true, or head_size to 0");
  if (config.position == Position::rope && head_size % 2 != 0)
    refuse("model.position = rope turns pairs of features, but a head has " + std::to_string(head_size) +
           "; make model.head_size (or n_embd / n_head) even");
}

void check_places(const Places& places, const std::string& option, const Places& allowed) {
  for (const Place place : places) {
    if (std::ranges::find(allowed, place) != allowed.end()) continue;
    std::string list;
    for (const Place one : allowed) list += (list.empty() ? "" : ", ") + std::string(enum_name(one));
    refuse("model." + option + " has " + std::string(enum_name(place)) + ", which is not one of " + list);
  }
}

void check_convolutions(const ModelConfig& config) {
  if (config.type != "gpt" && !config.conv_places.empty())
    refuse("model.conv_places is for model.type = gpt alone, not for " + config.type + "; leave it out");
  check_places(config.conv_places, "conv_places", {Place::attention, Place::mlp});
  if (!config.feed_forward && has_convolution(config, Place::mlp))
    refuse("model.conv_places has mlp, but model.feed_forward = false leaves that layer out; take mlp out");
}

/// Whether a type has attention layers that the options of attention speak of.
bool attends(const ModelConfig& config) {
  return config.type == "attention" || config.type == "gpt";
}

}  // namespace

std::span<const ModelType> model_types() {
  return types;
}

void check_model_config(const ModelConfig& config) {
  type_of(config);
  check_places(config.bias_places, "bias_places",
               {Place::attention, Place::attention_output, Place::mlp, Place::norm, Place::head});
  check_places(config.dropout_places, "dropout_places",
               {Place::embedding, Place::attention, Place::attention_output, Place::mlp});
  if (!config.causal && config.type != "average")
    refuse("model.causal = false is for model.type = average alone, not for " + config.type +
           "; leave it out, or set it to true");
  if (attends(config)) check_heads(config);
  check_convolutions(config);
}

std::int64_t count_parameters(const ModelConfig& config, std::int64_t vocab_size) {
  return type_of(config).count_parameters(config, vocab_size);
}

bool leaks(const ModelConfig& config) {
  return config.type == "average" && !config.causal;
}

bool has_cache(const ModelConfig& config) {
  return config.type == "attention" || config.type == "gpt";
}

bool can_slide(const ModelConfig& config) {
  return has_cache(config) && (config.position == Position::rope || config.position == Position::none);
}

}  // namespace chargpt
