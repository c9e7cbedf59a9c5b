// Confidence intervals from per-token losses by resampling blocks of text. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chargpt {

struct Interval {
  double low = 0, high = 0;
};

/// Losses of neighbouring characters depend on each other, so text is resampled in blocks of consecutive ones.
struct BlockSums {
  std::vector<double> sums;     ///< of each block's losses
  std::vector<double> lengths;  ///< the last one may be short
};

/// Cuts `losses` into blocks of `block` from 0. A text of fewer than 20 blocks is cut into 20 shorter ones (or single
/// values): two or three blocks say nothing of their spread.
BlockSums block_sums(std::span<const float> losses, std::int64_t block);

/// 95 % interval of the mean, resampling the blocks of block_sums() with replacement, `resamples` times, weighted by
/// length; expanded percentiles, which give few blocks the width of Student's t. Speaks of the text, not of the seed.
/// NaN, NaN where there are fewer than 2 values or one is not finite. Sources: Kuensch 1989 (block bootstrap);
/// Hesterberg 2015, "What Teachers Should Know About the Bootstrap" (expansion).
Interval bootstrap_interval(std::span<const float> losses, std::int64_t block = 1024, int resamples = 2000,
                            std::uint64_t seed = 1337);

}  // namespace chargpt
