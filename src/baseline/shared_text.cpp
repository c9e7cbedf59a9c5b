#include "baseline/shared_text.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace chargpt {
namespace {

constexpr std::int64_t run_tokens = 1 << 16;

/// Spreads every input bit over all others: the finaliser of SplitMix64 (Steele et al., 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/// visit(begin, hash) for each stretch of `length` tokens, in order.
template <class Visit>
void each_stretch(TokenView tokens, std::int64_t length, Visit&& visit) {
  constexpr std::uint64_t base = 0x9E3779B97F4A7C15u;
  std::uint64_t leaving = 1, hash = 0;  // base to the power of `length`; the sum of token times base to its distance
  for (std::int64_t i = 0; i < length; ++i) leaving *= base;
  std::vector<std::int64_t> run(static_cast<std::size_t>(length + run_tokens), -1);  // the last `length`, then new ones
  for (std::int64_t begin = 0; begin < tokens.size(); begin += run_tokens) {
    const std::int64_t count = std::min(run_tokens, tokens.size() - begin);
    tokens.copy(begin, count, run.data() + length);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto enters = static_cast<std::uint64_t>(run[static_cast<std::size_t>(i + length)] + 1),
                 leaves = static_cast<std::uint64_t>(run[static_cast<std::size_t>(i)] + 1);
      hash = hash * base + enters - leaves * leaving;
      if (begin + i + 1 >= length) visit(begin + i + 1 - length, mix(hash));
    }
    std::copy(run.begin() + count, run.begin() + count + length, run.begin());
  }
}

/// The stretches of a text by their hashes, and which of them were met elsewhere.
class Stretches {
 public:
  Stretches(TokenView tokens, std::int64_t length) {
    each_stretch(tokens, length, [this](std::int64_t, std::uint64_t hash) { in_order_.push_back(hash); });
    sorted_.resize(in_order_.size());
    std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
    std::ranges::sort(sorted_, {}, [this](std::size_t begin) { return std::pair(in_order_[begin], begin); });
    filter_.resize(std::bit_ceil(64 * in_order_.size()));
    for (const std::uint64_t hash : in_order_) filter_[hash & (filter_.size() - 1)] = true;
    met_.resize(in_order_.size());
  }
  /// Whether it is one of them, which is noted. Where the last one was met, the one after it is likely to follow.
  bool meet(std::uint64_t hash) {
    if (next_ == in_order_.size() || in_order_[next_] != hash) next_ = find(hash);
    if (next_ == in_order_.size()) return false;
    met_[next_++] = true;
    return true;
  }
  /// Equal ones were all met if one was.
  std::vector<bool> met() const {
    std::vector<bool> all = met_;
    for (std::size_t begin = 0, end = 0; begin < sorted_.size(); begin = end) {
      bool any = false;
      for (; end < sorted_.size() && in_order_[sorted_[end]] == in_order_[sorted_[begin]]; ++end)
        any = any || met_[sorted_[end]];
      for (std::size_t i = begin; i < end; ++i) all[sorted_[i]] = any;
    }
    return all;
  }

 private:
  /// Where the first one of that hash begins; in_order_.size() where there is none.
  std::size_t find(std::uint64_t hash) const {
    if (!filter_[hash & (filter_.size() - 1)]) return in_order_.size();
    const auto found =
        std::ranges::lower_bound(sorted_, hash, {}, [this](std::size_t begin) { return in_order_[begin]; });
    return found != sorted_.end() && in_order_[*found] == hash ? *found : in_order_.size();
  }

  std::vector<std::uint64_t> in_order_;  ///< by where they begin
  std::vector<std::size_t> sorted_;      ///< where they begin, by hash
  std::vector<bool> filter_, met_;       ///< by the hash's last bits; by where they begin
  std::size_t next_ = 0;                 ///< the one expected; in_order_.size(): none
};

}  // namespace

SharedText shared_text(TokenView scored, TokenView counted) {
  const std::int64_t length = std::min(shared_stretch, scored.size());
  if (2 * length < shared_stretch) return {.tokens = 0, .rest = {counted}};
  Stretches stretches(scored, length);
  SharedText result;
  std::int64_t clean_from = 0;  // nothing from here on is shared, so far
  const auto keep_until = [&](std::int64_t end) {
    if (end > clean_from) result.rest.push_back(counted.slice(clean_from, end - clean_from));
  };
  each_stretch(counted, length, [&](std::int64_t begin, std::uint64_t hash) {
    if (!stretches.meet(hash)) return;
    keep_until(begin);
    clean_from = begin + length;
  });
  keep_until(counted.size());
  std::int64_t covered_to = 0;
  const std::vector<bool> met = stretches.met();
  for (std::int64_t begin = 0; begin < std::ssize(met); ++begin) {
    if (!met[static_cast<std::size_t>(begin)]) continue;
    result.tokens += begin + length - std::max(begin, covered_to);
    covered_to = begin + length;
  }
  return result;
}

}  // namespace chargpt
