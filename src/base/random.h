// Counter-based random numbers: every draw is a pure function of (seed, purpose, a, b, index), so nothing but the step
// number need be saved to repeat a run. Normal ones are the same bits on every machine: no function of the C library,
// no fused operation, no reduced precision. Knows no tensor and keeps no global state.
#pragma once

#include <array>
#include <cstdint>

namespace chargpt {

/// Philox4x32-10: ten rounds over a 128-bit counter with a 64-bit key. Source: Salmon et al., "Parallel random numbers:
/// as easy as 1, 2, 3" (SC 2011); same figures as Random123's known-answer tests.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// What a stream is for; each purpose draws under a key of its own. Values are part of the checkpoint format:
/// only append.
enum class Purpose : std::uint32_t { windows = 1, dropout = 2, sampling = 3, initialisation = 5, documents = 6 };

/// A 64-bit seed made of (seed, purpose, a, b), for a generator that is not ours (a torch::Generator).
std::uint64_t derive_seed(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint32_t b = 0);

/// One stream of numbers; copying it copies its place. Distinct (seed, purpose, a, b) give independent streams of 2^32
/// blocks.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint32_t b = 0);
  std::uint32_t next();
  /// Uniform in [0, 1) with 53 bits.
  double uniform();
  /// Uniform in [0, bound) without bias (Lemire 2019, "Fast random integer generation in an interval"); bound > 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

/// The quantile of the standard normal distribution at p in (0, 1), within 1e-15 relative. Source: Wichura (1988),
/// "Algorithm AS 241: The percentage points of the normal distribution", PPND16.
double normal_quantile(double p);

/// A standard normal number made of 32 random bits: the quantile in the middle of their share of (0, 1), so never
/// beyond 6.4.
double normal_of(std::uint32_t bits);

}  // namespace chargpt
