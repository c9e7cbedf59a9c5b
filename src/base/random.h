// Counter-based random numbers: every draw is a pure function of (seed, purpose, a, b, index), so a run repeats from
// its step number alone. Normal numbers have the same bits on every machine once they are rounded to float32: no C
// library function but the logarithm, no fused operation, no reduced precision. No global state.
#pragma once

#include <array>
#include <cstdint>

namespace chargpt {

/// Philox4x32-10: ten rounds over a 128-bit counter with a 64-bit key. Source: Salmon et al., "Parallel random numbers:
/// as easy as 1, 2, 3" (SC 2011). Passes the known-answer tests of Random123.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// What a stream is used for; each purpose has its own key. The values are part of the checkpoint format: only append.
enum class Purpose : std::uint32_t { windows = 1, dropout = 2, sampling = 3, initialisation = 5, documents = 6 };

/// A 64-bit number from (seed, purpose, a, b): seeds a generator of another library (torch::Generator), or keys a
/// permutation or sort.
std::uint64_t derive_seed(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint32_t b = 0);

/// One stream of random numbers; a copy continues from the same position. Different (seed, purpose, a, b) give
/// independent streams of 2^32 blocks of four numbers.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint32_t b = 0);
  std::uint32_t next();
  /// Uniform in [0, 1), with 53 random bits.
  double uniform();
  /// Uniform in [0, bound) without bias (Lemire 2019, "Fast random integer generation in an interval"); bound > 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

/// Quantile of the standard normal distribution at p in (0, 1), with a relative error below 1e-15. Source: Wichura
/// (1988), "Algorithm AS 241: The percentage points of the normal distribution", PPND16.
double normal_quantile(double p);

/// A standard normal number from 32 random bits: the quantile at (bits + 0.5) / 2^32, whose magnitude is below 6.4.
double normal_of(std::uint32_t bits);

}  // namespace chargpt
