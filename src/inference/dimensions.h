// Sizes that follow from a model's options: widths, rates, and how many parameters each layer has. Knows no weight.
//
// Letters in shapes, here and in all of this room: B sequences, T tokens of each, C channels (n_embd), V symbols, nh
// heads, hs features of a head.
#pragma once

#include <cstdint>
#include <string_view>

#include "config/config.h"

namespace chargpt {

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

/// 3 for the weight that holds an attention layer's queries, keys and values, 1 for any other name.
std::int64_t stacked_projections(std::string_view parameter);

/// Parameters of each layer, from the options alone: a model that does not fit is refused before it is built.
std::int64_t count_norm(const ModelConfig& config);
std::int64_t count_convolution(const ModelConfig& config, Place place);
std::int64_t count_attention(const ModelConfig& config);
std::int64_t count_mlp(const ModelConfig& config);
std::int64_t count_block(const ModelConfig& config);
std::int64_t count_input_embedding(const ModelConfig& config, std::int64_t vocab_size);

}  // namespace chargpt
