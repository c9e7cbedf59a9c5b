// Initial weights. Each is a pure function of (seed, parameter name, index in the parameter); in rows that belong to a
// symbol, of (seed, name, symbol, index in the row). So the bits are equal on every machine, engine and device, for any
// number of processes and any other symbols in the vocabulary. Independent of arenas and texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "network/layers.h"

namespace chargpt {

/// Sets the values of these parameters of such a model in a flat buffer. `symbols`: the symbol of each id, "a"; if
/// empty, the id is the symbol.
///
/// gpt2: linear and embedding weights N(0, init_std), biases 0, norms 1 and 0; the last layer of a residual branch
/// depends on residual_init (scaled: init_std / sqrt(2 n_layer)). Source: Radford et al. 2019, nanoGPT.
/// pytorch: embeddings N(0, 1); linear weight and bias uniform on +-1/sqrt(in); norms 1 and 0.
/// Convolutions start as the identity: 0.
void draw_initial_weights(const ModelConfig& config, std::span<const Parameter> parameters, std::uint64_t seed,
                          const std::vector<std::string>& symbols, float* values);

}  // namespace chargpt
