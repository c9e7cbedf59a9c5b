// Counts n-grams, order by order, for the model p_n(w | h) = (c(hw) + T(h) p_{n-1}(w | h')) / (c(h) + T(h)), where c
// counts in the training split, T(h) is the number of different tokens that follow h there, h' is h without its first
// token, p_0 = 1/V, and p_n = p_{n-1} if h was not seen. In a text with documents, h does not reach back over the id
// that starts one (base/token_view.h). Source: Witten & Bell (1991), interpolated as in Chen & Goodman (1998), section
// 2.5. Independent of texts and files.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"

namespace chargpt {

/// For each of `scored`, the loss of each order 1..max_order in nats per token, counted on `train`. Contexts do not
/// cross the start of a window: its first target is predicted from one character, its input, the second from two, and
/// so on; windows of the text's size or more do not cut contexts. Throws Error data if a text has fewer than 2 tokens.
std::vector<std::vector<double>> ngram_losses(TokenView train, std::int64_t vocab_size,
                                              const std::vector<WindowCut>& scored, int max_order = 8,
                                              const Heartbeat& heartbeat = {});

}  // namespace chargpt
