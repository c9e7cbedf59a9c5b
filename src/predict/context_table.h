// What was seen in contexts, at each decision, in memory of a fixed size: where that is full, what was seen least gives
// way. A context that was not seen is taken for another one about once in 6,000 times.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/buffers.h"

namespace chargpt {

/// Every bit of the result depends on every bit of `value`. Source: the finaliser of MurmurHash3, Appleby (2011).
constexpr std::uint64_t mixed_bits(std::uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccd;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

/// How often 0 and 1 came at one decision in one context, and which came last, in a byte: a state, and the next one
/// after each bit. Of many of one bit, some are forgotten when the other comes, since what came lately tells more.
/// Source: bit histories of PAQ, Mahoney (2005), with simpler rules.
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

class ContextTable {
 public:
  struct Seen {
    std::uint16_t p = 0;                 ///< that the bit is 1, in 65,536ths
    std::uint8_t bits = 0, history = 0;  ///< how many came, at most 250; a state of BitHistories
  };
  /// 6.4 bytes each.
  explicit ContextTable(std::int64_t entries);

  /// find() of this key will be asked.
  void fetch(std::uint64_t key) const { __builtin_prefetch(&groups()[group_of(key)]); }

  /// Where the entry of a key is, which names context and decision and has mixed_bits; -1: not seen.
  std::int64_t find(std::uint64_t key) const;
  std::int64_t find_or_add(std::uint64_t key);
  const Seen& operator[](std::int64_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return groups()[at / stride].seen[at % stride];
  }
  Seen& operator[](std::int64_t place) {
    const auto at = static_cast<std::size_t>(place);
    return groups()[at / stride].seen[at % stride];
  }

 private:
  /// A key's group is a line of the cache, with ten places for its entry. Places are numbered `stride` apart from group
  /// to group.
  static constexpr std::size_t places = 10, stride = 16;
  struct alignas(64) Group {
    std::array<std::uint16_t, places> checks;  ///< of the keys; 0: the entry is free
    std::array<Seen, places> seen;
  };
  static std::uint16_t check_of(std::uint64_t key) {
    return std::max<std::uint16_t>(1, static_cast<std::uint16_t>(key));
  }
  std::size_t group_of(std::uint64_t key) const { return static_cast<std::size_t>((key >> 32) * count_ >> 32); }
  const Group* groups() const { return reinterpret_cast<const Group*>(memory_.data()); }
  Group* groups() { return reinterpret_cast<Group*>(memory_.data()); }

  std::uint64_t count_;  ///< of groups, fewer than 2^32
  cpu::AlignedFloats memory_;
};

}  // namespace chargpt
