// Whether the held-out part of a text is clearly another text than the part to train on. Knows no model and no file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "text/corpus.h"

namespace chargpt {

/// Losses under counted pairs of characters (order 2 of ngram.h) of the first 80 % of the train part, nats per token.
struct SplitCheck {
  double train_loss = 0;     ///< of the last 20 % of the train part
  double held_out_loss = 0;  ///< of the held-out part
  bool sorted = false;       ///< the lines are in order, upwards or downwards
  /// The lines are sorted, or the second loss is above the first by a quarter and by 0.5.
  bool differs() const;
};

/// Looks at no more than 1,400,000 tokens, taken evenly: about 0.3 s. Empty for a text of documents, or where the train
/// part has fewer than 5,000 tokens or the held-out part fewer than 1,000.
std::optional<SplitCheck> check_split(const Corpus& corpus);

nlohmann::ordered_json to_json(const SplitCheck& check);

/// One line: what was seen and what to do; "" unless the held-out part differs.
std::string split_notice(const Corpus& corpus, const std::optional<SplitCheck>& check);

}  // namespace chargpt
