// Finds stretches of texts that occur verbatim in a source: does a model copy it? Independent of models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

/// The parts of some texts that occur in a source.
struct CopiedText {
  /// For each token, the length of the longest stretch that ends with it, within its text, and occurs in the source; 0
  /// if the token itself does not occur there.
  std::vector<std::int64_t> match;
  /// The longest stretch: its length, the index of its text, its first token, and its first occurrence in the source.
  std::int64_t longest = 0, text = 0, begin = 0, source_begin = 0;

  /// Fraction of all tokens that are in a stretch of at least `length` tokens that occurs in the source.
  double copied_share(std::int64_t length) const;
};

/// Reads the source once, with an automaton of all stretches of the texts: about 200 bytes per token of the texts, for
/// any length of the source. Source: suffix automata, Blumer et al., "The smallest automaton recognizing the subwords
/// of a text" (1985).
CopiedText copied_text(std::span<const std::vector<std::int64_t>> texts, TokenView source);

}  // namespace chargpt
