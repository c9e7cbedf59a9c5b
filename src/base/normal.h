// Standard normal numbers that are the same bits on every machine: no function of the C library, no fused operation, no
// reduced precision. Knows no generator.
#pragma once

#include <cstdint>

namespace chargpt {

/// The quantile of the standard normal distribution at p in (0, 1), within 1e-15 relative. Source: Wichura (1988),
/// "Algorithm AS 241: The percentage points of the normal distribution", PPND16.
double normal_quantile(double p);

/// A standard normal number made of 32 random bits: the quantile in the middle of their share of (0, 1), so never
/// beyond 6.4.
double normal_of(std::uint32_t bits);

}  // namespace chargpt
