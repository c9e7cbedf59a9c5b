// A table of fixed size that stores which bits occurred at each decision in each context; if it is full, new entries
// replace those seen least. About one unseen context in 6,000 is mistaken for another one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/buffers.h"

namespace chargpt {

/// Every bit of the result depends on every bit of `value`. Source: the finalizer of MurmurHash3, Appleby (2011).
constexpr std::uint64_t mixed_bits(std::uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccd;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

/// A state machine with one byte per state: how often 0 and 1 occurred at one decision in one context, and which came
/// last. When a bit follows many of the other kind, some of those are forgotten, because recent bits predict better.
/// Source: bit histories of PAQ, Mahoney (2005), with simpler rules.
class BitHistories {
 public:
  struct State {
    std::int32_t zeros, ones;
    bool last;
    bool operator==(const State&) const = default;
  };
  BitHistories();
  /// At most 256. State 0 is the empty history.
  const std::vector<State>& states() const { return states_; }
  std::uint8_t next(std::uint8_t state, bool bit) const { return next_[state][bit]; }

 private:
  std::vector<State> states_;
  std::vector<std::array<std::uint8_t, 2>> next_;
};

class ContextTable {
 public:
  struct Seen {
    std::uint16_t p = 0;                 ///< probability that the bit is 1, in 65,536ths
    std::uint8_t bits = 0, history = 0;  ///< number of bits seen, at most 250; a state of BitHistories
  };
  /// Needs 6.4 bytes per entry.
  explicit ContextTable(std::int64_t entries);

  /// Prefetches the entry of this key for find().
  void fetch(std::uint64_t key) const { __builtin_prefetch(&groups()[group_of(key)]); }

  /// Returns the index of the entry of a key, or -1. The key is a hash of context and decision, made by mixed_bits().
  std::int64_t find(std::uint64_t key) const;
  std::int64_t find_or_add(std::uint64_t key);
  Seen& operator[](std::int64_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return groups()[at / stride].seen[at % stride];
  }

 private:
  /// A group is one cache line with slots for ten entries. A key can use any slot of its group. Groups are `stride`
  /// indices apart.
  static constexpr std::size_t places = 10, stride = 16;
  struct alignas(64) Group {
    std::array<std::uint16_t, places> checks;  ///< of the keys; 0: the slot is empty
    std::array<Seen, places> seen;
  };
  static std::uint16_t check_of(std::uint64_t key) {
    return std::max<std::uint16_t>(1, static_cast<std::uint16_t>(key));
  }
  std::size_t group_of(std::uint64_t key) const { return static_cast<std::size_t>((key >> 32) * count_ >> 32); }
  Group* groups() const { return reinterpret_cast<Group*>(memory_.data()); }

  std::uint64_t count_;  ///< number of groups, less than 2^32
  cpu::AlignedFloats memory_;
};

}  // namespace chargpt
