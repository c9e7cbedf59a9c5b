// From logits to one drawn symbol: pure functions over one row. Knows no model. A new filter is one function here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"

namespace chargpt {

/// In place. Order of use: temperature, top_k, top_p, min_p; removed symbols become -inf. Ties at the edge are kept lowest id first.
void apply_temperature(std::span<float> logits, double temperature);
void keep_top_k(std::span<float> logits, std::int64_t k);
void keep_top_p(std::span<float> logits, double p);
void keep_min_p(std::span<float> logits, double p);

std::int64_t most_probable(std::span<const float> logits);
/// Draws from softmax(logits) with one uniform number. Error internal where nothing is left, diverged where a logit is NaN.
std::int64_t draw(std::span<const float> logits, RandomStream& random);
/// All of the above as `sample` says; temperature 0 is greedy and draws nothing.
std::int64_t choose(std::span<float> logits, const SampleConfig& sample, RandomStream& random);

}  // namespace chargpt
