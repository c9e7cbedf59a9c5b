// The exact loss of a whole split: every predictable token scored once. No randomness.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/engine.h"
#include "text/corpus.h"

namespace chargpt {

struct SplitLoss {
  std::vector<float> losses;    ///< nats, one per scored token, in the order of the text
  double mean = 0;
  std::int64_t tokens = 0;
};

/// Consecutive windows of block_size from 0 (x = ids[s, s+T), y = ids[s+1, s+T+1)), the last one short: n - 1 tokens scored.
/// `stride` < block_size: overlapping windows, only the last `stride` targets of each scored (all of the first window's).
SplitLoss split_loss(Engine& engine, TokenView split, std::int64_t block_size, std::int64_t stride = 0);

/// Mean loss of `count` evenly spaced windows (the fixed train sample beside a validation loss, or a sampled evaluation).
double sampled_loss(Engine& engine, TokenView split, std::int64_t block_size, std::int64_t count);

}  // namespace chargpt
