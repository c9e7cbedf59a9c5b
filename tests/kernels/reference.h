// Numbers to try kernels on, and how far a kernel's result is from a formula's.
#pragma once

#include <cstddef>

#include "base/random.h"
#include "kernels/kernels.h"

#include "test.h"

namespace chargpt::cpu {

using Floats = std::vector<float>;

/// rows x ld numbers in [-1, 1] by a formula, with room behind.
inline Floats numbers(long rows, long ld, double phase = 0) {
  Floats values(static_cast<std::size_t>(rows * ld + 256));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(1.7 * static_cast<double>(i + 1) + phase));
  return values;
}

/// Keys (T, hs), rows `ld` apart, as attention reads them.
class TransposedKeys {
 public:
  TransposedKeys(const cpu::Kernels& k, long T, long hs, const Floats& keys, long ld)
      : stride_(T + 5), panel_width_(k.panel_width), values_(static_cast<std::size_t>(hs * stride_ + k.slack)) {
    k.transpose(T, hs, keys.data(), ld, values_.data(), stride_);
  }
  cpu::HeadKeys keys() const { return {values_.data(), stride_, panel_width_}; }

 private:
  long stride_, panel_width_;
  Floats values_;
};

inline float& entry(Floats& values, long i) {
  return values[static_cast<std::size_t>(i)];
}
inline double entry(const Floats& values, long i) {
  return static_cast<double>(values[static_cast<std::size_t>(i)]);
}

/// Largest |got - expected(row, column)| over rows x columns.
template <class Expected>
double error_of(const Floats& got, long rows, long columns, long ld, const Expected& expected) {
  double largest = 0;
  for (long r = 0; r < rows; ++r)
    for (long c = 0; c < columns; ++c) {
      const double error = std::abs(entry(got, r * ld + c) - expected(r, c));
      if (!(error <= largest)) largest = error;
    }
  return largest;
}

template <class Test>
void for_all_kernels(const Test& test) {
  for (const Kernels* kernels : kernels_up_to(instruction_set())) {
    INFO(kernels->name);
    test(*kernels);
  }
}

using Buffers = std::vector<Floats>;

/// With every instruction set `run` leaves about what it leaves with the portable one in all of its buffers, those
/// parts included that it must not touch.
template <class Run>
void check_alike(const Run& run) {
  const Buffers expected = run(*kernels_up_to(instruction_set()).back());
  for_all_kernels([&](const Kernels& k) {
    const Buffers got = run(k);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("buffer " << i);
      REQUIRE(got[i].size() == expected[i].size());
      const long n = std::ssize(got[i]);
      CHECK(error_of(got[i], 1, n, n, [&](long, long c) { return entry(expected[i], c); }) < 1e-5);
    }
  });
}

inline DropoutMask some_mask(double rate) {
  return {.key = {0x89abcdef, 0x1234567},
          .layer = 5,
          .threshold = static_cast<std::uint64_t>(std::ldexp(rate, 32)),
          .scale = static_cast<float>(1 / (1 - rate))};
}

/// What an element of a tensor is multiplied by.
inline float factor(const DropoutMask& mask, long element) {
  const auto words = philox({static_cast<std::uint32_t>(element / 4), 0, mask.layer, 0}, {mask.key[0], mask.key[1]});
  return words[static_cast<std::size_t>(element % 4)] >= mask.threshold ? mask.scale : 0.0F;
}

}  // namespace chargpt::cpu
