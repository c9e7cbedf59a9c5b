// The model types, the constraints on their options, and sizes and rates derived from the options. Independent of
// weights. plan.h defines what each type computes; model/registry.cpp lists the types as LibTorch modules.
//
// Letters in shapes, in this whole module: B sequences, T tokens per sequence, C channels (n_embd), V symbols, nh
// heads, hs features per head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// Returns the type names from simplest to full: bigram, average, masked, attention, gpt.
const std::vector<std::string>& model_types();

/// Throws Error usage if the type is unknown (the message names the nearest type) or options do not fit together
/// ("model.n_head = 5 does not divide model.n_embd = 128; 4 or 8 would").
void check_model_config(const ModelConfig& config);

/// Number of distinct parameters of such a model, without building it: for plans and memory estimates.
std::int64_t count_parameters(const ModelConfig& config, std::int64_t vocab_size);

/// True if the logits of position t depend on ids after t: the loss of such a model does not measure prediction.
bool leaks(const ModelConfig& config);
/// True if the model depends only on relative positions (rope, none): dropping old tokens keeps the cache valid.
bool can_slide(const ModelConfig& config);

/// True for types with attention layers that use the attention options.
bool attends(const ModelConfig& config);
/// Width of one head: head_size, or n_embd / n_head.
std::int64_t head_width(const ModelConfig& config);
/// Hidden width of the feed-forward layer: mlp_size, or 4 n_embd.
std::int64_t mlp_width(const ModelConfig& config);
bool has_bias(const ModelConfig& config, Place place);
/// True if a convolution comes before the sublayer at `place` (attention, mlp).
bool has_convolution(const ModelConfig& config, Place place);
/// The dropout rate at `place`; 0 if dropout is not used there.
double dropout_rate(const ModelConfig& config, Place place);
/// The factor of the attention scores.
double score_scale(const ModelConfig& config);

}  // namespace chargpt
