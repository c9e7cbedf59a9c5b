// Losses of counting and compressing on a split, which a model has to beat. Independent of models. Unit: nats per
// token.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/heartbeat.h"
#include "evaluate/ngram.h"
#include "text/corpus.h"

namespace chargpt {

/// Losses compare within a class: frozen, nothing is learned from the text that is scored; adaptive, each character is
/// predicted before it is learned from. Uniform and counted n-grams are frozen; PPMd is adaptive.
struct Baselines {
  double uniform = 0;         ///< ln V
  std::int64_t measured = 0;  ///< tokens of the split that the figures are of: the first 10 million
  std::int64_t shared = 0;    ///< of these, tokens that occur in the train split too (shared_text.h)
  std::int64_t counted = 0;   ///< tokens of the train split that the rest is counted on: the first 10 million
  double unigram = 0, bigram = 0, trigram = 0;
  std::int64_t ngram_order = 0;  ///< best of 1..8
  double ngram = 0;
  double ngram_in_windows = 0;  ///< of the same order, its context cut where the model's windows are
  std::optional<double> ppmd;   ///< what the split adds to what is counted (compression.h); absent if left out
};

/// All baselines of `split`, which is in the vocabulary of `corpus`. Counting sees the whole text before each token,
/// the most it can: the harder figure to beat. `windows` is for ngram_in_windows, counting with no more context than
/// the model has. About 1 s on tinyshakespeare, half of it `with_ppmd`. Errors as ppmd_bytes.
Baselines compute_baselines(const Corpus& corpus, TokenView split, ScoredWindows windows,
                            const Heartbeat& heartbeat = {}, bool with_ppmd = true);

nlohmann::ordered_json to_json(const Baselines& baselines);

}  // namespace chargpt
