// Continues prompts, one token at a time. Independent of text: ids in, ids out through a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "config/config.h"
#include "predict/predictor.h"

namespace chargpt {

/// Called for each new token of sample `index` (0-based) in order of generation; returning false ends that sample.
using TokenCallback = std::function<bool(std::int64_t index, std::int64_t id)>;

/// Continues `prompt` (at least one id) num_samples times as one batch, numbered from `first_sample`; sample i uses
/// random stream (seed, i) for any num_samples. Samples that do not fit in one batch are decoded in several batches.
/// Throws Error internal for an empty prompt or an id that is not in the vocabulary; diverged if a logit is NaN
/// or +inf.
void generate(Predictor& predictor, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, std::int64_t first_sample = 0);

}  // namespace chargpt
