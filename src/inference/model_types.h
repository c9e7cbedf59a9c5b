// The types of model that there are, and what their options must satisfy. What a type computes is in plan.h, and as a
// LibTorch module in model/registry.cpp.
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

}  // namespace chargpt
