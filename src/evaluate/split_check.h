// Checks whether the held-out part of a text differs clearly from the training part. Independent of models and files.
#pragma once

#include <optional>
#include <string>

#include "text/corpus.h"

namespace chargpt {

/// Losses of counted pairs of characters (order 2 of ngram.h) from the first 80 % of the training part, nats per token.
struct SplitCheck {
  double train_loss = 0;     ///< on the last 20 % of the training part
  double held_out_loss = 0;  ///< on the held-out part
  bool sorted = false;       ///< the lines are sorted, ascending or descending
  /// True if the lines are sorted, or held_out_loss is above train_loss by 25 % and by 0.5.
  bool differs() const;
};

/// Reads at most 1,400,000 tokens, evenly spaced: about 0.3 s. Returns nullopt for a text of documents, or if the
/// training part has fewer than 5,000 tokens or the held-out part fewer than 1,000.
std::optional<SplitCheck> check_split(const Corpus& corpus);

/// One line with the finding and the advice; "" unless the held-out part differs or the text looks like a list.
std::string split_notice(const Corpus& corpus, const std::optional<SplitCheck>& check);

}  // namespace chargpt
