// Counts n-grams, order by order, for the model p_n(w | h) = (c(hw) + T(h) p_{n-1}(w | h')) / (c(h) + T(h)), where c
// counts in the training split, T(h) is the number of different tokens that follow h there, h' is h without its first
// token, p_0 = 1/V, and p_n = p_{n-1} if h was not seen. In a text with documents, h does not reach back over the id
// that starts one (base/token_view.h). Source: Witten & Bell (1991), interpolated as in Chen & Goodman (1998), section
// 2.5. Independent of texts and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"

namespace chargpt {

/// The numbered n-grams of one order. Those with the same context, an (n - 1)-gram, are consecutive and sorted by their
/// last token. Contexts are exact, not hashed.
struct NgramLevel {
  static constexpr std::int32_t unseen = -1;

  std::vector<std::int32_t> first{0};  ///< by context: its n-grams are first[c] to first[c + 1] - 1
  std::vector<std::int32_t> totals;    ///< by context: c(h)
  std::vector<std::int32_t> ids;       ///< last token of each n-gram
  std::vector<std::int32_t> counts;    ///< c(hw)

  /// Returns the number of the n-gram with this context and last token, or `unseen`.
  std::int32_t find(std::int32_t context, std::int32_t id) const;
  /// T(h)
  std::int32_t distinct(std::int32_t context) const {
    return first[static_cast<std::size_t>(context) + 1] - first[static_cast<std::size_t>(context)];
  }
};

/// Counts a text. Memory: 20 bytes per token, and 8 to 16 per different n-gram of the level.
class NgramCounter {
 public:
  explicit NgramCounter(TokenView text);
  /// Returns the next level; the first call returns order 1.
  NgramLevel next_order();

 private:
  std::vector<std::int32_t> tokens_;    ///< (N)
  std::vector<std::int32_t> by_token_;  ///< (N) positions, sorted by token
  std::vector<std::int32_t> contexts_;  ///< (N) number of the n-gram that ends before token i; the first n are unseen
  std::int32_t contexts_of_level_ = 1;
  std::int64_t document_;
  std::int64_t order_ = 0;
};

/// For each of `scored`, the loss of each order 1..max_order in nats per token, counted on `train`. Contexts do not
/// cross the start of a window: its first target is predicted from one character, its input, the second from two, and
/// so on; windows of the text's size or more do not cut contexts. Throws Error data if a text has fewer than 2 tokens.
std::vector<std::vector<double>> ngram_losses(TokenView train, std::int64_t vocab_size,
                                              const std::vector<WindowCut>& scored, int max_order = 8,
                                              const Heartbeat& heartbeat = {});

}  // namespace chargpt
