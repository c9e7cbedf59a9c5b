// Confidence intervals from per-token losses by resampling blocks of text. Pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace chargpt {

struct Interval {
  double low = 0, high = 0;
};

/// 95 % percentile interval of the mean, resampling consecutive blocks of `block` values (the last one short) with
/// replacement, `resamples` times, weighted by length. Speaks of the text, not of the seed. Source: Kuensch (1989), block bootstrap.
Interval bootstrap_interval(std::span<const float> losses, std::int64_t block = 1024, int resamples = 2000, std::uint64_t seed = 1337);

}  // namespace chargpt
