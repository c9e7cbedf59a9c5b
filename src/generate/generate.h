// Continues prompts, one token at a time. Knows no text: ids in, ids out through a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "model/language_model.h"
#include "model/storage.h"

namespace chargpt {

/// Called for each new token of sample `index` (0-based) in order of generation; returning false ends that sample.
using TokenCallback = std::function<bool(std::int64_t index, std::int64_t id)>;

/// fast: on the raw weights (compute/cpu/decoder.h) where that covers the model, else cached. cached: the model's own
/// forward with a key/value cache where it has one; uncached: every position again for each token. All give the same
/// distribution, logits within 1e-4, and so the same text but for draws that fall between two such logits.
enum class Decoding { fast, cached, uncached };

/// What a sequence of block_size tokens loses when it grows.
/// full: its first token, as in nanoGPT; what is left is run again from position 0 for each character.
/// half: its first half, which is run again, and the next tokens are appended: every character is written with
/// block_size / 2 to block_size tokens of context, many times faster.
/// slide: its first token's keys and values alone; nothing is run again. Every token sees the block_size last ones, as
/// those saw theirs: for models whose positions are told apart by distance (LanguageModel::can_slide).
/// automatic: slide where the model can, else full.
enum class Context { automatic, full, half, slide };

struct DecodeOptions {
  Decoding decoding = Decoding::fast;
  Context context = Context::automatic;
  Storage storage = Storage::float32;  ///< of the raw weights; the others take the model as it is: round_matrices first
};

/// Continues `prompt` (at least one id) num_samples times as one batch; sample i draws from stream (seed, i), whatever
/// num_samples is. Of a prompt longer than block_size the last block_size tokens count. Samples that would need over a
/// quarter of a gigabyte together are decoded in several batches, one after the other. Errors: internal for an empty
/// prompt or an id the model does not have; usage for Context::slide with a model that cannot; diverged for logits that
/// are not numbers.
void generate(LanguageModel& model, const std::vector<std::int64_t>& prompt, const SampleConfig& sample,
              std::uint64_t seed, const TokenCallback& on_token, const DecodeOptions& options = {});

/// What `context` means for the model: never automatic.
Context context_of(const LanguageModel& model, Context context);

/// Whether Decoding::fast covers the model, and if not why_not: "model.norm_place = post".
bool decodes_fast(const LanguageModel& model, std::string& why_not);

}  // namespace chargpt
