// Counts of n-grams as a distribution of the next symbol: modified Kneser-Ney, interpolated. The longest order counts
// how often a symbol followed a context, a shorter one after how many different symbols it followed it, since only
// there is it asked; D is taken from counts of 1, 2, and 3 or more, and shared out by the next shorter order, the last
// by all symbols alike. Source: Kneser & Ney (1995), Chen & Goodman (1998), section 3. Knows no network.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"

namespace chargpt {

struct NgramLevel;

class Counts {
 public:
  static constexpr std::int64_t orders = 6;
  /// The end of a text as counts see it: the number of the n-gram that it ends with, by n from 0 on.
  using State = std::array<std::int32_t, orders>;

  /// Of texts that do not touch. 16 bytes for each different n-gram.
  Counts(const std::vector<TokenView>& texts, std::int64_t vocab_size, const Heartbeat& heartbeat = {});

  std::int64_t vocab_size() const { return vocab_size_; }
  /// Of a text that ends with these ids; the last `orders` - 1 count.
  State state_of(std::span<const std::int64_t> ids) const;
  State advanced(const State& state, std::int64_t id) const;
  /// Of every symbol, (V): above 0, and they sum to one.
  void log_probabilities(const State& state, std::span<float> logs) const;

 private:
  /// The n-grams of one order, as NgramLevel has them.
  struct Level {
    Level(const NgramLevel& counted, const std::vector<std::int32_t>& counts);
    std::vector<std::int32_t> first, ids;
    std::vector<float> shares;  ///< by n-gram: (count - D) / all
    std::vector<float> rest;    ///< by context: what all D of it sum to, / all
  };
  std::int64_t vocab_size_;
  std::vector<Level> levels_;  ///< by order - 1
};

}  // namespace chargpt
