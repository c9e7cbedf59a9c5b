#include "inference/dimensions.h"

#include <algorithm>
#include <cmath>

namespace chargpt {

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

std::int64_t stacked_projections(std::string_view parameter) {
  return parameter.ends_with("attn.c_attn.weight") ? 3 : 1;
}

namespace {

std::int64_t count_linear(std::int64_t in, std::int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

}  // namespace

std::int64_t count_norm(const ModelConfig& config) {
  if (config.norm == Norm::none) return 0;
  const bool bias = config.norm == Norm::layernorm && has_bias(config, Place::norm);
  return (config.norm_gain ? config.n_embd : 0) + (bias ? config.n_embd : 0);
}

std::int64_t count_convolution(const ModelConfig& config, Place place) {
  return has_convolution(config, place) ? config.conv_width * config.n_embd : 0;
}

std::int64_t count_attention(const ModelConfig& config) {
  const std::int64_t joined = config.n_head * head_width(config);
  const std::int64_t input = count_linear(config.n_embd, 3 * joined, has_bias(config, Place::attention));
  if (!config.output_projection) return input;
  return input + count_linear(joined, config.n_embd, has_bias(config, Place::attention_output));
}

std::int64_t count_mlp(const ModelConfig& config) {
  const bool bias = has_bias(config, Place::mlp);
  const std::int64_t into = config.activation == Activation::swiglu ? 2 : 1;
  return into * count_linear(config.n_embd, mlp_width(config), bias) +
         count_linear(mlp_width(config), config.n_embd, bias);
}

std::int64_t count_block(const ModelConfig& config) {
  const std::int64_t attention =
      count_norm(config) + count_convolution(config, Place::attention) + count_attention(config);
  if (!config.feed_forward) return attention;
  return attention + count_norm(config) + count_convolution(config, Place::mlp) + count_mlp(config);
}

std::int64_t count_input_embedding(const ModelConfig& config, std::int64_t vocab_size) {
  const std::int64_t positions = config.position == Position::learned ? config.block_size : 0;
  return (vocab_size + positions) * config.n_embd;
}

double score_scale(const ModelConfig& config) {
  switch (config.attention_scale) {
    case AttentionScale::head:
      return 1.0 / std::sqrt(static_cast<double>(head_width(config)));
    case AttentionScale::width:
      return 1.0 / std::sqrt(static_cast<double>(config.n_embd));
    case AttentionScale::none:
      return 1.0;
  }
  return 1.0;
}

}  // namespace chargpt
