// Whether the held-out part of a text is clearly another text than the part to train on. Knows no model and no file.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "text/corpus.h"

namespace chargpt {

/// What counted pairs of characters say. The distance of a part of the text is how much worse the rest of the text
/// predicts it than the part itself does: the mean loss under the counts of each third of the rest, over the loss under
/// the counts of the whole rest and half of the part, minus 1. 0.05: 5 % more nats.
struct SplitCheck {
  double held_out = 0;                             ///< distance of the held-out part
  double least = 0, median = 0, most = 0;          ///< distances of the ninths of the train part
  double loss = 0, least_loss = 0, most_loss = 0;  ///< of each part under the counts of the whole rest, nats per token
  bool sorted = false;                             ///< the lines are in order, upwards or downwards
  bool differs() const;
};

/// Looks at no more than 2 million tokens, taken evenly, and at the 255 most frequent symbols: about 0.1 s. None where
/// a part has fewer than 1,000 tokens.
std::optional<SplitCheck> check_split(const Corpus& corpus);

nlohmann::ordered_json to_json(const SplitCheck& check);

/// One line: what was seen and what to do; "" unless the held-out part differs.
std::string split_notice(const Corpus& corpus, const std::optional<SplitCheck>& check);

}  // namespace chargpt
