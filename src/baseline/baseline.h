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
  double gzip = 0;  ///< of the split alone, in nats per token
  double xz = 0;    ///< what the split adds to the train split
};

/// Loss of an interpolated Witten-Bell n-gram model of each order 1..max_order, counted on `train`, on `split` cut into
/// consecutive windows of block_size (no context across a cut: the first target of a window is predicted from one
/// character, its input, the second from two, and so on). Base distribution 1/V. Source: Witten & Bell (1991); Chen &
/// Goodman (1998).
std::vector<double> ngram_losses(TokenView train, TokenView split, std::int64_t vocab_size, std::int64_t block_size,
                                 int max_order = 8);

/// All baselines of `split`; on texts over 10 million tokens counted on the first 10 million of train.
Baselines compute_baselines(const Corpus& corpus, TokenView split, std::int64_t block_size);

nlohmann::ordered_json to_json(const Baselines& baselines);
Baselines baselines_from_json(const nlohmann::json& json);

}  // namespace chargpt
