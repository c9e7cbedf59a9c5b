// Counts as distributions: for each order the probability of every symbol, given the last few. Knows no network.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "baseline/ngram.h"

namespace chargpt {

class Counts {
 public:
  static constexpr int orders = 6;
  /// The end of a text as counts see it: the number of the n-gram that it ends with, by n from 0 on.
  using State = std::array<std::int32_t, orders>;

  /// Of texts that do not touch.
  Counts(const std::vector<TokenView>& texts, std::int64_t vocab_size, const Heartbeat& heartbeat = {});

  /// Of a text that ends with these ids; the last `orders` - 1 count.
  State state_of(std::span<const std::int64_t> ids) const;
  State advanced(const State& state, std::int64_t id) const;

  /// What the longest context that was ever seen has of followers.
  struct Match {
    int order = 0;                      ///< orders that have one: 1 for no context at all
    std::int32_t total = 0, distinct = 0;
  };
  /// log p_n of every symbol, for n from 1 to the match's order: (order, V). p_n as in baseline/ngram.h.
  Match log_probabilities(const State& state, std::span<float> logs) const;

  std::int64_t vocab_size() const { return vocab_size_; }

 private:
  std::int64_t vocab_size_;
  std::array<NgramLevel, orders> levels_;  ///< by order - 1
};

}  // namespace chargpt
