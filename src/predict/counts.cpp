#include "predict/counts.h"

#include <algorithm>
#include <cmath>

namespace chargpt {
namespace {

constexpr std::int32_t unseen = NgramLevel::unseen;

}  // namespace

Counts::Counts(const std::vector<TokenView>& texts, std::int64_t vocab_size, const Heartbeat& heartbeat)
    : vocab_size_(vocab_size) {
  NgramCounter counter(texts);
  for (std::size_t n = 0; n < levels_.size(); ++n)
    levels_[n] = counter.next_order([&](double part) {
      if (heartbeat) heartbeat((static_cast<double>(n) + part) / orders);
    });
}

Counts::State Counts::advanced(const State& state, std::int64_t id) const {
  State next{0};
  for (std::size_t n = 1; n < next.size(); ++n)
    next[n] = state[n - 1] == unseen ? unseen : levels_[n - 1].find(state[n - 1], static_cast<std::int32_t>(id));
  return next;
}

Counts::State Counts::state_of(std::span<const std::int64_t> ids) const {
  State state;
  state.fill(unseen);
  state[0] = 0;
  for (const std::int64_t id : ids.last(std::min<std::size_t>(ids.size(), orders - 1))) state = advanced(state, id);
  return state;
}

Counts::Match Counts::log_probabilities(const State& state, std::span<float> logs) const {
  const auto V = static_cast<std::size_t>(vocab_size_);
  Match match;
  std::vector<float> p(V, 1 / static_cast<float>(V));  // of the order before
  float log_shorter = 0;
  for (std::size_t n = 0; n < levels_.size() && state[n] != unseen; ++n) {
    const NgramLevel& level = levels_[n];
    const auto context = static_cast<std::size_t>(state[n]);
    const std::int32_t distinct = level.distinct(state[n]), total = level.totals[context];
    if (distinct == 0) break;
    match = {.order = static_cast<int>(n) + 1, .total = total, .distinct = distinct};
    const float all = static_cast<float>(total) + static_cast<float>(distinct),
                rest = static_cast<float>(distinct) / all;
    float* const row = logs.data() + n * V;
    (void)log_shorter;
    for (std::size_t v = 0; v < V; ++v) p[v] *= rest;
    for (auto i = static_cast<std::size_t>(level.first[context]); i < static_cast<std::size_t>(level.first[context + 1]); ++i)
      p[static_cast<std::size_t>(level.ids[i])] += static_cast<float>(level.counts[i]) / all;
    for (std::size_t v = 0; v < V; ++v) row[v] = std::log(p[v]);
  }
  return match;
}

}  // namespace chargpt
