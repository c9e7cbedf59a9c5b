// Continues prompts, one token at a time. Knows no text: ids in, ids out through a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "config/config.h"
#include "model/language_model.h"

namespace chargpt {

/// Called for each new token of sample `index` (0-based) in order of generation; returning false ends that sample.
using TokenCallback = std::function<bool(std::int64_t index, std::int64_t id)>;

/// Continues `prompt` (at least one id) num_samples times as one batch; sample i draws from stream (seed, i), whatever
/// num_samples is. Past block_size the last block_size tokens are run again at each step (as nanoGPT does), so cached
/// and uncached decoding agree for every way of telling positions apart; of a longer prompt the last block_size tokens
/// count. `use_cache`: key/value cache where the model has one. Samples that would need over a quarter of a gigabyte
/// together are decoded in several batches, one after the other. Errors: internal for an empty prompt or an id the
/// model does not have; diverged for logits that are not numbers.
void generate(LanguageModel& model, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, bool use_cache = true);

}  // namespace chargpt
