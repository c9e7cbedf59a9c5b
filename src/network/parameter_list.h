// The parameters of a model, from its options alone: what each is called, how large it is and what it is to the model.
// The one list that buffers, plans, initial weights, groups, checkpoints, imports and estimates are read off. Knows no
// value of a parameter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// Values of a tensor.
std::int64_t numel_of(const std::vector<std::int64_t>& shape);

enum class ParameterRole {
  embedding,  ///< a row for each symbol or position: looked up
  matrix,     ///< of a linear layer: (out, in)
  kernel,     ///< of a convolution: (taps, C)
  gain,       ///< of a norm: (C)
  bias        ///< of a linear layer or a norm: (out)
};

struct ParameterInfo {
  std::string name;  ///< state_dict name, "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;
  ParameterRole role = ParameterRole::matrix;
  Place place = Place::embedding;  ///< that options speak of: bias_places for a bias
  bool counts_symbols = false;     ///< the first dimension is one entry for each symbol
  std::int64_t stacked = 1;        ///< equal matrices one above the other: queries, keys and values
  std::int64_t numel() const { return numel_of(shape); }
};

/// Distinct parameters of a model of `vocab_size` symbols whose options check_model_config() accepts, in the order in
/// which the modules register them. A tied head has no weight of its own: it reads `transformer.wte.weight`.
std::vector<ParameterInfo> parameter_list(const ModelConfig& config, std::int64_t vocab_size);

}  // namespace chargpt
