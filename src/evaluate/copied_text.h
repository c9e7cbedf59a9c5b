// Finds stretches of texts that occur verbatim in a source: does a model copy it? Independent of models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

struct CopiedText {
  /// Fraction of all tokens that are in a stretch of at least `length` tokens that occurs in the source.
  double share = 0;
  /// The first of the longest stretches that occur in the source; empty if nothing does.
  std::vector<std::int64_t> longest;
  std::int64_t source_begin = 0;  ///< where `longest` first occurs
};

/// Compares texts with a source. Reads the source once, and once more per bit of the longest text's size.
CopiedText copied_text(std::span<const std::vector<std::int64_t>> texts, TokenView source, std::int64_t length);

}  // namespace chargpt
