// How much of one text occurs verbatim in another: a loss measures memorization there. Independent of models.
#pragma once

#include <cstdint>

#include "base/token_view.h"

namespace chargpt {

/// Stretches from this many tokens on are shared text and not a coincidence: the validation split of tinyshakespeare
/// has not even 32 characters in a row in common with its train split.
constexpr std::int64_t shared_stretch = 64;

/// Tokens of `scored` that lie in a stretch of shared_stretch tokens that occurs in `train` too (in all of a `scored`
/// that is shorter; under half of that nothing is shared), or in a document that is one of `train`'s. Compares hashes
/// of 64 bits; 20 bytes for each token of `scored`; a few nanoseconds for each of `train`. Source: containment of
/// documents by their shingles, Broder (1997); rolling hash of Karp & Rabin (1987).
std::int64_t shared_tokens(TokenView scored, TokenView train);

}  // namespace chargpt
