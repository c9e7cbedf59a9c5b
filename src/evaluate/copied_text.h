// Which stretches of some texts stand word for word in another: whether a model writes or recites. Knows no model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

/// What of a text stands in a source.
struct CopiedText {
  /// For each token the longest stretch that ends with it, within its text, and stands in the source; 0: not even the
  /// token.
  std::vector<std::int64_t> match;
  /// The longest of all: which text, its tokens [begin, end), and where it stands in the source for the first time.
  std::int64_t longest = 0, text = 0, begin = 0, source_begin = 0;
  std::vector<std::size_t> ends;  ///< of each text, in `match`

  /// Of the stretches of `length` tokens, the share that does not stand in the source; 0 where no text is as long.
  double new_share(std::int64_t length) const;
  /// Of all tokens, the share that lies in a stretch of at least `length` that stands in the source.
  double copied_share(std::int64_t length) const;
};

/// Reads the source once, through an automaton of all stretches of the texts: some 200 bytes for each of their tokens,
/// however long the source is. Source: suffix automata, Blumer et al., "The smallest automaton recognizing the subwords
/// of a text" (1985).
CopiedText copied_text(std::span<const std::vector<std::int64_t>> texts, TokenView source);

}  // namespace chargpt
