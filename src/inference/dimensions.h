// Sizes that follow from a model's options: widths and rates. Knows no weight.
//
// Letters in shapes, here and in all of this room: B sequences, T tokens of each, C channels (n_embd), V symbols, nh
// heads, hs features of a head.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace chargpt {

/// Whether a type has attention layers that the options of attention speak of.
bool attends(const ModelConfig& config);
/// Width of one head: head_size, or n_embd / n_head.
std::int64_t head_width(const ModelConfig& config);
/// Hidden width of the feed-forward layer: mlp_size, or 4 n_embd.
std::int64_t mlp_width(const ModelConfig& config);
bool has_bias(const ModelConfig& config, Place place);
/// Whether the sublayer at `place` (attention, mlp) reads a convolution.
bool has_convolution(const ModelConfig& config, Place place);
/// The rate at `place`, 0 where dropout does not act there.
double dropout_rate(const ModelConfig& config, Place place);
/// What attention's scores are multiplied by.
double score_scale(const ModelConfig& config);

}  // namespace chargpt
