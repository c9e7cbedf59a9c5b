// What counting and compressing give on a split: the figures a model has to beat. Knows no model. Unit: nats per token.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/heartbeat.h"
#include "text/corpus.h"

namespace chargpt {

/// Losses compare within a class: frozen, nothing is learned from the text that is scored; adaptive, each character is
/// predicted before it is learned from. Uniform and counted n-grams are frozen; gzip, xz and PPMd are adaptive.
struct Baselines {
  double uniform = 0;         ///< ln V
  double gzip = 0;            ///< of the split alone, in nats per token
  std::int64_t measured = 0;  ///< tokens of the split that the figures are of: the first 10 million
  std::int64_t shared = 0;    ///< of these, tokens in stretches that stand in the train split too (shared_text.h)
  std::int64_t counted = 0;   ///< tokens of the train split that the rest is counted on; 0: none, the rest is 0 too
  std::int64_t left_out = 0;  ///< tokens of the train split that are not counted because they stand in the split
  double unigram = 0, bigram = 0, trigram = 0;
  std::int64_t ngram_order = 0;  ///< best of 1..8
  double ngram = 0;
  double ngram_in_windows = 0;   ///< of the same order, its context cut where the model's windows are
  double xz = 0;                 ///< what the split adds to what is counted
  std::optional<double> ppmd{};  ///< likewise (compression.h)
  std::string ppmd_missing{};    ///< why it was not measured, if it was not
};

struct Rival {
  std::string name;
  double loss;
};
/// The strongest adaptive rival, where something was counted.
Rival strongest_adaptive(const Baselines& baselines);

/// Windows of `length` targets that begin every `stride` tokens, of which those are scored that no earlier window held.
struct ScoredWindows {
  std::int64_t length = 0, stride = 0;  ///< stride 0: length, no overlap
};

/// Loss of an interpolated Witten-Bell n-gram model of each order 1..max_order, counted on the texts `train`, which do
/// not touch, on `split` cut into windows (no context across a cut: the first target of a window is predicted from one
/// character, its input, the second from two, and so on); a length of the split's size or more makes no cut. The
/// recursion and its sources: baseline/ngram.h. Error data when `split` has no target (fewer than 2 tokens).
std::vector<double> ngram_losses(const std::vector<TokenView>& train, TokenView split, std::int64_t vocab_size,
                                 ScoredWindows windows, int max_order = 8, const Heartbeat& heartbeat = {});

/// All baselines of `split`, which is in the vocabulary of `corpus`. Counting sees the whole text before each token,
/// the most it can: the harder figure to beat. `windows` is for ngram_in_windows, counting with no more context than
/// the model has. Of the train split and of `split` no more than the first 10 million tokens are used. Nothing is
/// counted on what is scored: of the train split, what stands in `split` too is left out, and where less than a tenth
/// is left nothing is counted; `held_out`: `split` is the corpus' own validation or test split, and nothing is left
/// out. About 2 s on tinyshakespeare, 20 s at the limit, most of it xz; two threads.
Baselines compute_baselines(const Corpus& corpus, TokenView split, ScoredWindows windows, bool held_out,
                            const Heartbeat& heartbeat = {});

nlohmann::ordered_json to_json(const Baselines& baselines);

}  // namespace chargpt
