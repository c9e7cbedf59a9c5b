// Losses on a split by counting and by compression, for comparison with models. Independent of models. Unit: nats per
// token.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/heartbeat.h"
#include "text/corpus.h"

namespace chargpt {

/// Compare losses only within a class. Frozen: nothing is learned from the scored text (uniform, counted n-grams).
/// Adaptive: each character is predicted, then learned from (PPMd).
struct Baselines {
  double uniform = 0;         ///< ln V
  std::int64_t measured = 0;  ///< scored tokens of the split: at most the first 10 million
  std::int64_t shared = 0;    ///< scored tokens that also occur in the training split (shared_text.h)
  std::int64_t counted = 0;   ///< counted tokens of the training split: at most the first 10 million
  double unigram = 0, bigram = 0, trigram = 0;
  std::int64_t ngram_order = 0;  ///< best of 1..8
  double ngram = 0;
  double ngram_in_windows = 0;  ///< of the same order, with contexts cut at the model's windows
  std::optional<double> ppmd;   ///< from the compressed size that the split adds; nullopt if not computed
};

/// Computes all baselines of `split`, in the vocabulary of `corpus`. The n-grams see the whole text before each token,
/// their best case; ngram_in_windows sees only the context that the model has in windows of block_size every `stride`
/// tokens (0: block_size). About 1 s on tinyshakespeare, half of it for `with_ppmd`. Throws the errors of ppmd_bytes().
Baselines compute_baselines(const Corpus& corpus, TokenView split, std::int64_t block_size, std::int64_t stride = 0,
                            const Heartbeat& heartbeat = {}, bool with_ppmd = true);

nlohmann::ordered_json to_json(const Baselines& baselines);

}  // namespace chargpt
