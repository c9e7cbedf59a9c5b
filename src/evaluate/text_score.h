// Mean losses of a text by kind of character and by line. Independent of files and colours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "text/vocabulary.h"

namespace chargpt {

/// The mean loss of some of a text's characters.
struct MeanLoss {
  std::string of;  ///< "capital letters"
  double loss = 0;
  std::int64_t characters = 0;
};

// Below, losses[i] is the loss of the text's token i + 1, in nats, as in split_loss().

/// By kind of character: the kinds of base/characters.h, spaces, line ends, ends of documents. Kinds that do not occur
/// are omitted.
std::vector<MeanLoss> losses_by_class(TokenView text, std::span<const float> losses, const Vocabulary& vocabulary);

/// A line of the text with its end, which may be the end of a document: losses [begin, end).
struct LineLoss {
  std::int64_t begin = 0, end = 0;
  double loss = 0;  ///< mean of its characters
};

std::vector<LineLoss> losses_by_line(TokenView text, std::span<const float> losses, std::int64_t line_end);

}  // namespace chargpt
