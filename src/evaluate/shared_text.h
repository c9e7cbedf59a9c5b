// How much of one text occurs verbatim in another, where a loss measures memorization. Independent of models.
#pragma once

#include <cstdint>
#include <string>

#include "base/token_view.h"
#include "config/config.h"

namespace chargpt {

/// Minimum length in tokens of shared text; shorter stretches are coincidences: the longest that the validation split
/// of tinyshakespeare has in common with its training split is shorter than 32 characters.
constexpr std::int64_t shared_stretch = 64;

/// Number of tokens of `scored` in a stretch of shared_stretch tokens that also occurs in `train`, or in a document
/// that also is in `train`. If `scored` is shorter than shared_stretch, all of it is the stretch; below half, stretches
/// do not count. Compares 64-bit hashes; 20 bytes per token of `scored`; a few nanoseconds per token of `train`.
/// Source: containment of documents by their shingles, Broder (1997); rolling hash of Karp & Rabin (1987).
std::int64_t shared_tokens(TokenView scored, TokenView train);

/// A smaller part changes a loss by less than 0.01.
constexpr double least_shared_part = 0.005;
/// A sentence on the part of `text` that also occurs in `in`, whose losses measure memorization; empty if it is small.
std::string shared_text_line(double part, Units units, const std::string& text, const std::string& in);
/// The same of shared_tokens(scored, train).
std::string shared_text_line(TokenView scored, TokenView train, Units units, const std::string& text);

}  // namespace chargpt
