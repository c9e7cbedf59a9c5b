// A small arena without a model: a few matrices and vectors, filled by a formula.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "network/arena.h"

namespace chargpt {

inline std::vector<ParameterInfo> tiny_parameters() {
  return {{"wte.weight", {7, 5}},
          {"norm.weight", {5}},
          {"norm.bias", {5}},
          {"linear.weight", {5, 5}},
          {"linear.bias", {5}}};
}

/// sin(1), sin(2), …
inline void fill_by_sines(std::span<float> values, double phase = 0) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) + phase));
}

inline bool equal(const cpu::AlignedFloats& a, const cpu::AlignedFloats& b) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };  // NaN equals itself
  return std::ranges::equal(a.all(), b.all(), {}, bits, bits);
}

/// Weights and moments of an arena at one moment.
struct ArenaCopy {
  struct Buffers {
    cpu::AlignedFloats values, moment1, moment2;
  };
  explicit ArenaCopy(const ParameterArena& arena) : updates(arena.updates()) {
    for (const ParameterGroup& group : arena.groups())
      groups.push_back({group.values.copy(), group.moment1.copy(), group.moment2.copy()});
  }
  bool has_bits_of(const ParameterArena& arena) const {
    return arena.updates() == updates &&
           std::ranges::equal(groups, arena.groups(), [](const Buffers& a, const auto& b) {
             return equal(a.values, b.values) && equal(a.moment1, b.moment1) && equal(a.moment2, b.moment2);
           });
  }

  std::vector<Buffers> groups{};
  std::int64_t updates = 0;
};

struct TinyArena : ParameterArena {
  explicit TinyArena(const TrainConfig& train = {}, Decay decay = Decay::matrices)
      : ParameterArena(tiny_parameters(), decay, train) {
    double phase = 0;
    for (ParameterGroup& group : groups())
      for (const ParameterSlot& slot : group.slots) {
        fill_by_sines(slot.in(group.values), phase += 0.5);
        fill_by_sines(slot.in(group.gradients), -phase);
      }
  }
};

}  // namespace chargpt
