// Mean losses of a text by line. Independent of files and colours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

/// A line of the text with its end, which may be the end of a document: losses [begin, end). losses[i] is the loss of
/// the text's token i + 1, in nats, as in split_loss().
struct LineLoss {
  std::int64_t begin = 0, end = 0;
  double loss = 0;  ///< mean of its characters
};

std::vector<LineLoss> losses_by_line(TokenView text, std::span<const float> losses, std::int64_t line_end);

}  // namespace chargpt
