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

inline std::vector<Parameter> tiny_parameters() {
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
  explicit ArenaCopy(const ParameterArena& arena)
      : values(arena.values.copy()),
        moment1(arena.moment1.copy()),
        moment2(arena.moment2.copy()),
        updates(arena.updates()) {}
  bool has_bits_of(const ParameterArena& arena) const {
    return arena.updates() == updates && equal(values, arena.values) && equal(moment1, arena.moment1) &&
           equal(moment2, arena.moment2);
  }

  cpu::AlignedFloats values, moment1, moment2;
  std::int64_t updates = 0;
};

/// The values of the named parameter.
inline std::span<float> values_of(const ParameterArena& arena, const std::string& name) {
  return std::ranges::find(arena.parameters(), name, &Parameter::name)->in(arena.values.data());
}

struct TinyArena : ParameterArena {
  explicit TinyArena(const TrainConfig& train = {}, Decay decay = Decay::matrices)
      : ParameterArena(tiny_parameters(), decay, train) {
    double phase = 0;
    for (const Parameter& parameter : parameters()) {
      fill_by_sines(parameter.in(values.data()), phase += 0.5);
      fill_by_sines(parameter.in(gradients.data()), -phase);
    }
  }
};

}  // namespace chargpt
