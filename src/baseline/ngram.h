// Counted n-gram models, one order after the other: p_n(w | h) = (c(hw) + T(h) p_{n-1}(w | h')) / (c(h) + T(h)), where
// c counts in the train split, T(h) is how many different tokens followed h there, h' is h without its first token, p_0
// = 1/V, and p_n = p_{n-1} where h was never seen. Source: Witten & Bell (1991), interpolated as in Chen & Goodman
// (1998), section 2.5. Knows no text and no file.
#pragma once

#include <cstdint>
#include <vector>

#include "base/heartbeat.h"
#include "baseline/baseline.h"
#include "text/corpus.h"

namespace chargpt {

/// Numbers the distinct pairs (prefix, token) from 0 in the order of their first appearance, and counts them. An n-gram
/// is the pair of its first n - 1 tokens' number and its last token, so that no context of any length is ever confused
/// with another.
class PairCounts {
 public:
  PairCounts();
  /// Number of the pair, which is counted once more.
  std::int32_t count(std::int32_t prefix, std::int32_t token);
  /// Number of the pair; -1 where it was never counted.
  std::int32_t find(std::int32_t prefix, std::int32_t token) const;
  /// How often, by number.
  const std::vector<std::int32_t>& counts() const { return counts_; }

 private:
  std::size_t slot_of(std::uint64_t pair) const;
  void grow();

  std::vector<std::uint64_t> pairs_;  ///< by number
  std::vector<std::int32_t> counts_;  ///< by number
  std::vector<std::int32_t> slots_;   ///< open addressing: number + 1, 0 for an empty slot; a power of two of them
};

/// Loss of each order 1..max_order in nats per token; see ngram_losses in baseline.h, which checks its arguments.
std::vector<double> witten_bell_losses(const std::vector<TokenView>& train, TokenView split, std::int64_t vocab_size,
                                       ScoredWindows windows, int max_order, const Heartbeat& heartbeat = {});

}  // namespace chargpt
