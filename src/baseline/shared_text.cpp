#include "baseline/shared_text.h"

#include <algorithm>
#include <bit>

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
    each_stretch(tokens, length, [this](std::int64_t, std::uint64_t hash) { hashes_.push_back(hash); });
    std::ranges::sort(hashes_);
    hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
    filter_.resize(std::bit_ceil(64 * hashes_.size()));
    for (const std::uint64_t hash : hashes_) filter_[hash & (filter_.size() - 1)] = true;
    met_.resize(hashes_.size());
  }
  /// Whether it is one of them, which is noted.
  bool meet(std::uint64_t hash) {
    if (!filter_[hash & (filter_.size() - 1)]) return false;
    const std::size_t place = place_of(hash);
    if (place == hashes_.size() || hashes_[place] != hash) return false;
    met_[place] = true;
    return true;
  }
  bool met(std::uint64_t hash) const { return met_[place_of(hash)]; }

 private:
  std::size_t place_of(std::uint64_t hash) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(hashes_, hash) - hashes_.begin());
  }
  std::vector<std::uint64_t> hashes_;  ///< sorted, each once
  std::vector<bool> filter_, met_;     ///< by the hash's last bits; by its place
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
  each_stretch(scored, length, [&](std::int64_t begin, std::uint64_t hash) {
    if (!stretches.met(hash)) return;
    result.tokens += begin + length - std::max(begin, covered_to);
    covered_to = begin + length;
  });
  return result;
}

}  // namespace chargpt
