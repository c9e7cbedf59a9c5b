// Counted n-grams, one order after the other, and the model they make: p_n(w | h) = (c(hw) + T(h) p_{n-1}(w | h')) /
// (c(h) + T(h)), where c counts in the train split, T(h) is how many different tokens followed h there, h' is h without
// its first token, p_0 = 1/V, and p_n = p_{n-1} where h was never seen. Where a text has documents, no h reaches back
// over the id that begins one (base/token_view.h). Source: Witten & Bell (1991), interpolated as in Chen & Goodman
// (1998), section 2.5. Knows no text and no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"

namespace chargpt {

/// The n-grams of one order. Each is numbered; those of one context, an (n - 1)-gram, lie side by side, by their last
/// token. So no context of any length is ever confused with another.
struct NgramLevel {
  static constexpr std::int32_t unseen = -1;

  std::vector<std::int32_t> first{0};  ///< by context: its n-grams are first[c] to first[c + 1] - 1
  std::vector<std::int32_t> totals;    ///< by context: c(h)
  std::vector<std::int32_t> ids;       ///< last token of each n-gram
  std::vector<std::int32_t> counts;    ///< c(hw)

  /// Number of the n-gram of this context and last token; unseen where there is none.
  std::int32_t find(std::int32_t context, std::int32_t id) const;
  /// T(h)
  std::int32_t distinct(std::int32_t context) const {
    return first[static_cast<std::size_t>(context) + 1] - first[static_cast<std::size_t>(context)];
  }
};

/// Counts a text. 16 bytes for each token while it counts, and for each different n-gram of a level 8 to 16.
class NgramCounter {
 public:
  explicit NgramCounter(TokenView text);
  /// Order 1 first.
  NgramLevel next_order(const Heartbeat& heartbeat = {});

 private:
  std::vector<std::int32_t> tokens_;    ///< (N)
  std::vector<std::int32_t> contexts_;  ///< (N) number of the n-gram that ends before token i; unseen for the first n
  std::size_t contexts_of_level_ = 1;
  std::int64_t document_;
  std::int64_t order_ = 0;
};

/// Windows of `length` targets that begin every `stride` tokens, of which those are scored that no earlier window held.
struct ScoredWindows {
  std::int64_t length = 0, stride = 0;  ///< stride 0: length, no overlap
};

/// For each of `windows`: the loss of each order 1..max_order in nats per token, counted on `train`, on `split` cut
/// into such windows (no context across a cut: the first target of a window is predicted from one character, its input,
/// the second from two, and so on); a length of the split's size or more makes no cut. Error data when `split` has no
/// target (fewer than 2 tokens).
std::vector<std::vector<double>> ngram_losses(TokenView train, TokenView split, std::int64_t vocab_size,
                                              const std::vector<ScoredWindows>& windows, int max_order = 8,
                                              const Heartbeat& heartbeat = {});

}  // namespace chargpt
