// How often 0 and 1 came at one decision in one context, and which came last, in a byte: a state, and the next one
// after each bit. Of many of one bit, some are forgotten when the other comes, since what came lately tells more.
// Source: bit histories of PAQ, Mahoney (2005), with simpler rules.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace chargpt {

class BitHistories {
 public:
  struct State {
    std::int32_t zeros, ones;
    bool last;
    bool operator==(const State&) const = default;
  };
  BitHistories();
  /// State 0 has seen no bit. At most 256.
  const std::vector<State>& states() const { return states_; }
  std::uint8_t next(std::uint8_t state, bool bit) const { return next_[state][bit]; }

 private:
  std::vector<State> states_;
  std::vector<std::array<std::uint8_t, 2>> next_;
};

}  // namespace chargpt
