// How much each character of a text surprises a model, and where that comes from. Knows no file and no colour.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "network/window_scorer.h"
#include "text/vocabulary.h"

namespace chargpt {

/// The mean loss of some of a text's characters.
struct MeanLoss {
  std::string of;  ///< "capital letters", "9 to 16"
  double loss = 0;
  std::int64_t characters = 0;
};

// Below, losses[i] is that of the text's token i + 1, in nats, as split_loss() has them.

/// By the number of characters that were seen before: 1, 2, 3 to 4, 5 to 8, ... Windows without overlap. Shorter than a
/// window: none.
std::vector<MeanLoss> losses_by_context(WindowScorer& scorer, TokenView text, std::int64_t block_size,
                                        const Heartbeat& heartbeat = {});

/// The same where a text has documents, from their beginning on: none, 1, 2, 3 to 4, ...
std::vector<MeanLoss> losses_by_place(TokenView text, std::span<const float> losses);

/// By kind of character: the kinds of base/utf8.h, spaces, line ends, ends of documents. Kinds that do not occur are
/// left out.
std::vector<MeanLoss> losses_by_class(TokenView text, std::span<const float> losses, const Vocabulary& vocabulary);

/// A line of the text, its end included, which may be that of a document: losses [begin, end).
struct LineLoss {
  std::int64_t number = 0, begin = 0, end = 0;  ///< number: 1 for the first
  double loss = 0;                              ///< mean of its characters
};

std::vector<LineLoss> losses_by_line(TokenView text, std::span<const float> losses, std::int64_t line_end);

}  // namespace chargpt
