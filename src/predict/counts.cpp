#include "predict/counts.h"

#include <algorithm>
#include <cmath>

#include "baseline/ngram.h"

namespace chargpt {
namespace {

constexpr std::int32_t unseen = NgramLevel::unseen;

/// What is taken off counts of 1, 2, and 3 or more: k - (k + 1) Y n_(k+1) / n_k, where n_k n-grams have count k and Y =
/// n_1 / (n_1 + 2 n_2). Half of k where there are too few to say.
std::array<double, 4> discounts(const std::vector<std::int32_t>& counts) {
  std::array<double, 5> n{};
  for (const std::int32_t count : counts)
    if (count < std::ssize(n)) ++n[static_cast<std::size_t>(count)];
  std::array<double, 4> taken{};
  for (std::size_t k = 1; k < taken.size(); ++k) {
    const auto number = static_cast<double>(k);
    taken[k] = number / 2;
    if (n[1] == 0 || n[k] == 0) continue;
    const double estimate = number - (number + 1) * n[1] / (n[1] + 2 * n[2]) * n[k + 1] / n[k];
    taken[k] = std::clamp(estimate, 0.1 * number, number);
  }
  return taken;
}

/// Of the n-grams of `level`: after how many different symbols each stands. One at the start of a text stands after
/// none, and counts as after one.
std::vector<std::int32_t> counts_of_suffixes(const NgramLevel& level, const NgramLevel& longer) {
  std::vector<std::int32_t> counts(level.ids.size(), 0);
  for (const std::int32_t suffix : longer.suffixes) ++counts[static_cast<std::size_t>(suffix)];
  for (std::int32_t& count : counts) count = std::max(count, 1);
  return counts;
}

}  // namespace

Counts::Level::Level(const NgramLevel& counted, const std::vector<std::int32_t>& counts)
    : first(counted.first), ids(counted.ids), shares(counted.ids.size()), rest(counted.totals.size()) {
  const std::array<double, 4> taken = discounts(counts);
  for (std::size_t context = 0; context < rest.size(); ++context) {
    const auto begin = static_cast<std::size_t>(first[context]), end = static_cast<std::size_t>(first[context + 1]);
    double all = 0, left = 0;
    for (std::size_t i = begin; i < end; ++i) all += counts[i];
    for (std::size_t i = begin; i < end; ++i) {
      const double off = taken[static_cast<std::size_t>(std::min(counts[i], 3))];
      shares[i] = static_cast<float>((counts[i] - off) / all);
      left += off / all;
    }
    rest[context] = static_cast<float>(left);
  }
}

Counts::Counts(const std::vector<TokenView>& texts, std::int64_t vocab_size, const Heartbeat& heartbeat)
    : vocab_size_(vocab_size) {
  NgramCounter counter(texts);
  NgramLevel level;
  for (std::int64_t n = 0; n < orders; ++n) {
    NgramLevel longer = counter.next_order([&](double part) {
      if (heartbeat) heartbeat((static_cast<double>(n) + part) / orders);
    });
    if (n > 0) levels_.emplace_back(level, counts_of_suffixes(level, longer));
    level = std::move(longer);
  }
  levels_.emplace_back(level, level.counts);
}

Counts::State Counts::advanced(const State& state, std::int64_t id) const {
  State next{0};
  for (std::size_t n = 1; n < next.size(); ++n) {
    const Level& level = levels_[n - 1];
    next[n] = state[n - 1] == unseen ? unseen
                                     : find_ngram(level.first, level.ids, state[n - 1], static_cast<std::int32_t>(id));
  }
  return next;
}

Counts::State Counts::state_of(std::span<const std::int64_t> ids) const {
  State state;
  state.fill(unseen);
  state[0] = 0;
  for (const std::int64_t id : ids.last(std::min<std::size_t>(ids.size(), orders - 1))) state = advanced(state, id);
  return state;
}

void Counts::log_probabilities(const State& state, std::span<float> logs) const {
  std::ranges::fill(logs, 1 / static_cast<float>(vocab_size_));
  for (std::size_t n = 0; n < levels_.size() && state[n] != unseen; ++n) {
    const Level& level = levels_[n];
    const auto context = static_cast<std::size_t>(state[n]);
    const auto begin = static_cast<std::size_t>(level.first[context]),
               end = static_cast<std::size_t>(level.first[context + 1]);
    if (begin == end) break;
    for (float& p : logs) p *= level.rest[context];
    for (std::size_t i = begin; i < end; ++i) logs[static_cast<std::size_t>(level.ids[i])] += level.shares[i];
  }
  for (float& p : logs) p = std::log(p);
}

}  // namespace chargpt
