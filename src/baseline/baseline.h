// What counting and compressing give on a split: the figures a model has to beat. Knows no model. Unit: nats per token.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "text/corpus.h"

namespace chargpt {

struct Baselines {
  double uniform = 0;  ///< ln V
  double unigram = 0, bigram = 0, trigram = 0;
  std::int64_t ngram_order = 0;  ///< best of 1..8
  double ngram = 0;
  double ngram_in_windows = 0;  ///< of the same order, its context cut where the model's windows are
  double gzip = 0;              ///< of the split alone, in nats per token
  double xz = 0;                ///< what the split adds to the train split
};

/// Loss of an interpolated Witten-Bell n-gram model of each order 1..max_order, counted on `train`, on `split` cut into
/// consecutive windows of block_size (no context across a cut: the first target of a window is predicted from one
/// character, its input, the second from two, and so on); a block_size of the split's size or more makes no cut. The
/// recursion and its sources: baseline/ngram.h. Error data when `split` has no target (fewer than 2 tokens).
std::vector<double> ngram_losses(TokenView train, TokenView split, std::int64_t vocab_size, std::int64_t block_size,
                                 int max_order = 8);

/// All baselines of `split`, which is in the vocabulary of `corpus`. Counting sees the whole text before each token,
/// the most it can: the harder figure to beat. `block_size` is for ngram_in_windows, counting with no more context than
/// the model has. Of train and of split no more than the first 10 million tokens are used. About 2 s on
/// tinyshakespeare, 20 s at the limit, nearly all of it xz; two threads.
Baselines compute_baselines(const Corpus& corpus, TokenView split, std::int64_t block_size);

nlohmann::ordered_json to_json(const Baselines& baselines);

}  // namespace chargpt
