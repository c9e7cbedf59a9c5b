// The types of model that there are, what their options must satisfy, and the sizes and rates that follow from them.
// Knows no weight. What a type computes is in plan.h, and as a LibTorch module in model/registry.cpp.
//
// Letters in shapes, here and in all of this module: B sequences, T tokens of each, C channels (n_embd), V symbols, nh
// heads, hs features of a head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// From simplest to full: bigram, average, masked, attention, gpt.
const std::vector<std::string>& model_types();

/// Error usage where the type is unknown (with the nearest) or options do not fit together ("model.n_head = 5 does not
/// divide model.n_embd = 128; 4 or 8 would").
void check_model_config(const ModelConfig& config);

/// Distinct parameters of such a model, without building it: what a plan shows and what a machine must hold.
std::int64_t count_parameters(const ModelConfig& config, std::int64_t vocab_size);

/// Position t's logits depend on ids after t: a loss of such a model says nothing about prediction.
bool leaks(const ModelConfig& config);
/// Positions are told apart by distance alone (rope, none), so that keys and values stay good while older tokens go.
bool can_slide(const ModelConfig& config);

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
