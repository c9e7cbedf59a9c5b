// How much each character of a text surprises a model, and where that comes from. Knows no file and no colour.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/heartbeat.h"
#include "network/window_scorer.h"
#include "predict/predictor.h"
#include "text/vocabulary.h"

namespace chargpt {

/// `ids` behind the symbol that they are predicted from. Errors: data for no ids.
std::vector<std::uint32_t> scored_text(std::span<const std::int64_t> ids, std::int64_t start_symbol);

/// Losses in nats, one for each of `ids`, the first one's from `start_symbol`: windows of block_size, each of which
/// begins half a window after the one before, so that every id but the first ones is predicted from block_size / 2 to
/// block_size others, as far as its document reaches back. `document`: the id between documents; -1: there is none.
/// Errors: data for no ids.
std::vector<float> text_losses(WindowScorer& scorer, std::span<const std::int64_t> ids, std::int64_t start_symbol,
                               std::int64_t block_size, const Heartbeat& heartbeat = {}, std::int64_t document = -1);

/// The same, the predictor learning from each window's targets before it sees the next.
std::vector<float> adaptive_text_losses(Predictor& predictor, std::span<const std::int64_t> ids,
                                        std::int64_t start_symbol, std::int64_t block_size,
                                        const Heartbeat& heartbeat = {}, std::int64_t document = -1);

/// The mean loss of some of a text's characters.
struct MeanLoss {
  std::string of;  ///< "capital letters", "9 to 16"
  double loss = 0;
  std::int64_t characters = 0;
};

/// By the number of characters that were seen before: 1, 2, 3 to 4, 5 to 8, ... Windows without overlap. Shorter than a
/// window: none.
std::vector<MeanLoss> losses_by_context(WindowScorer& scorer, std::span<const std::int64_t> ids,
                                        std::int64_t block_size, const Heartbeat& heartbeat = {});

/// The same where a text has documents, from their beginning on, by the losses of text_losses(): none, 1, 2, 3 to 4,
/// ...
std::vector<MeanLoss> losses_by_place(std::span<const std::int64_t> ids, std::span<const float> losses,
                                      std::int64_t document);

/// By kind of character: the kinds of base/utf8.h, spaces, line ends, ends of documents. Kinds that do not occur are
/// left out.
std::vector<MeanLoss> losses_by_class(std::span<const std::int64_t> ids, std::span<const float> losses,
                                      const Vocabulary& vocabulary);

/// A line of the text, its end included, which may be that of a document: ids [begin, end).
struct LineLoss {
  std::int64_t number = 0, begin = 0, end = 0;  ///< number: 1 for the first
  double loss = 0;                              ///< mean of its characters
};

std::vector<LineLoss> losses_by_line(std::span<const std::int64_t> ids, std::span<const float> losses,
                                     std::int64_t line_end, std::int64_t document = -1);

}  // namespace chargpt
