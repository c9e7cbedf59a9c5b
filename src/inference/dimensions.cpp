#include "inference/dimensions.h"

#include <algorithm>
#include <cmath>

namespace chargpt {

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
