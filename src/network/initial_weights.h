// First weights: every number a pure function of (seed, name of the parameter, place in it), and rows that belong to a
// symbol of (seed, name, symbol, place in the row): the same bits on every machine, engine and device, for any number
// of processes, and whatever other symbols a vocabulary has. Knows no arena and no text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "network/layers.h"

namespace chargpt {

/// Fills in the values of these parameters of such a model, which lie in a flat buffer. `symbols`: each id's own, "a";
/// none: ids stand for themselves.
///
/// gpt2: linear and embedding weights N(0, init_std), biases 0, norms 1 and 0; layers that end a residual branch as
/// residual_init says (scaled: init_std / sqrt(2 n_layer)). Source: Radford et al. 2019, nanoGPT.
/// pytorch: embeddings N(0, 1); linear weight and bias uniform on +-1/sqrt(in); norms 1 and 0.
/// Convolutions begin as the identity: 0.
void draw_initial_weights(const ModelConfig& config, std::span<const Parameter> parameters, std::uint64_t seed,
                          const std::vector<std::string>& symbols, float* values);

}  // namespace chargpt
