#include "baseline/shared_text.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "text/documents.h"

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

struct Interval {
  std::int64_t begin, end;
};

/// To intervals in ascending order; those that meet are one.
void add(std::vector<Interval>& intervals, Interval next) {
  if (intervals.empty() || next.begin > intervals.back().end)
    intervals.push_back(next);
  else
    intervals.back().end = std::max(intervals.back().end, next.end);
}

/// What stands in both of two texts.
struct Shared {
  std::vector<Interval> in_scored, in_counted;
};

Shared shared_stretches(TokenView scored, TokenView counted) {
  const std::int64_t length = std::min(shared_stretch, scored.size());
  if (2 * length < shared_stretch) return {};
  Stretches stretches(scored, length);
  Shared shared;
  each_stretch(counted, length, [&](std::int64_t begin, std::uint64_t hash) {
    if (stretches.meet(hash)) add(shared.in_counted, {begin, begin + length});
  });
  const std::vector<bool> met = stretches.met();
  for (std::int64_t begin = 0; begin < std::ssize(met); ++begin)
    if (met[static_cast<std::size_t>(begin)]) add(shared.in_scored, {begin, begin + length});
  return shared;
}

/// The documents of `text` that are known, each with the id behind it.
std::vector<Interval> documents_in(TokenView text, const KnownDocuments& known) {
  std::vector<Interval> found;
  std::vector<std::int64_t> ids;
  each_document(text, [&](std::int64_t begin, std::int64_t end) {
    ids.resize(static_cast<std::size_t>(end - begin));
    text.copy(begin, end - begin, ids.data());
    if (known.contain(ids)) add(found, {begin, end + 1});
  });
  return found;
}

/// Documents may be shorter than a stretch, and have other neighbours here and there.
Shared shared_documents(TokenView scored, TokenView counted) {
  if (scored.document() == TokenView::no_document) return {};
  return {documents_in(scored, KnownDocuments(counted)), documents_in(counted, KnownDocuments(scored))};
}

std::vector<Interval> united(const std::vector<Interval>& some, const std::vector<Interval>& others) {
  std::vector<Interval> all = some, merged;
  all.insert(all.end(), others.begin(), others.end());
  std::ranges::sort(all, {}, &Interval::begin);
  for (const Interval& one : all) add(merged, one);
  return merged;
}

}  // namespace

SharedText shared_text(TokenView scored, TokenView counted) {
  const Shared stretches = shared_stretches(scored, counted), documents = shared_documents(scored, counted);
  SharedText result;
  for (const Interval& range : united(stretches.in_scored, documents.in_scored))
    result.tokens += range.end - range.begin;
  std::int64_t clean_from = 0;
  const auto keep_until = [&](std::int64_t end) {
    const bool only_an_id_between = end == clean_from + 1 && counted[clean_from] == counted.document();
    if (end > clean_from && !only_an_id_between) result.rest.push_back(counted.slice(clean_from, end - clean_from));
  };
  for (const Interval& range : united(stretches.in_counted, documents.in_counted)) {
    keep_until(range.begin);
    clean_from = range.end;
    result.left_out += range.end - range.begin;
  }
  keep_until(counted.size());
  return result;
}

}  // namespace chargpt
