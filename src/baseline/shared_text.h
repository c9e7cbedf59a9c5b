// What of one text stands in another, word for word: so that nothing is counted on text that is scored. Knows no model.
#pragma once

#include <cstdint>
#include <vector>

#include "text/corpus.h"

namespace chargpt {

/// Stretches from this many tokens on are shared text and no coincidence: the validation split of tinyshakespeare has
/// not even 32 characters in a row in common with its train split.
constexpr std::int64_t shared_stretch = 64;

struct SharedText {
  std::int64_t tokens = 0;           ///< of `scored`, that stand in `counted` too
  std::int64_t left_out = 0;         ///< of `counted`, that stand in `scored`
  std::vector<TokenView> rest = {};  ///< of `counted`, the others, in order
};

/// Looks up every stretch of shared_stretch tokens of one text in the other (the whole of a `scored` that is shorter;
/// under half of that nothing is called shared), and every document, by hashes of 64 bits. 16 bytes and a bit filter of
/// 8 to 16 more for each token of `scored`; a few nanoseconds for each of `counted`. Source: containment of documents
/// by their shingles, Broder (1997); rolling hash of Karp & Rabin (1987).
SharedText shared_text(TokenView scored, TokenView counted);

}  // namespace chargpt
