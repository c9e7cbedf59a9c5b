// How much of one text occurs verbatim in another, where a loss measures memorization. Independent of models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"

namespace chargpt {

/// Calls visit(begin, found) for each stretch of `length` tokens of `text`, in order: where it begins, and where it
/// first occurs in `source` (-1: nowhere). Compares 64-bit hashes; 28 bytes per token of `text`; a few nanoseconds per
/// token of `source`. Source: rolling hash of Karp & Rabin (1987).
void find_stretches(TokenView text, TokenView source, std::int64_t length,
                    const std::function<void(std::int64_t begin, std::int64_t found)>& visit);
/// For each token of `text`, whether it is in a stretch of `length` tokens that occurs in `source`.
std::vector<bool> tokens_in_copies(TokenView text, TokenView source, std::int64_t length);

/// Minimum length in tokens of shared text; shorter stretches are coincidences: the longest that the validation split
/// of tinyshakespeare has in common with its training split is shorter than 32 characters.
constexpr std::int64_t shared_stretch = 64;

/// Number of tokens of `scored` in a stretch of shared_stretch tokens that also occurs in `train`, or in a document
/// that also is in `train`. If `scored` is shorter than shared_stretch, all of it is the stretch; below half, stretches
/// do not count. Source: containment of documents by their shingles, Broder (1997).
std::int64_t shared_tokens(TokenView scored, TokenView train);

/// A smaller part changes a loss by less than 0.01.
constexpr double least_shared_part = 0.005;
/// A sentence on the part of `text` that also occurs in `in`, whose losses measure memorization; empty if it is small.
std::string shared_text_line(double part, Units units, const std::string& text, const std::string& in);
/// The same of shared_tokens(scored, train).
std::string shared_text_line(TokenView scored, TokenView train, Units units, const std::string& text);

}  // namespace chargpt
