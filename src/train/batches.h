// Windows of a split as batches: a pure function of (seed, step, micro-batch). Knows no model.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/engine.h"
#include "text/corpus.h"

namespace chargpt {

/// Where windows come from. random: uniform starts in [0, n - T). shuffled: each epoch draws an offset in [0, T), cuts the split
/// into windows from there and visits each once, in an order drawn anew; a batch never spans two epochs' remainders differently on resume.
class BatchSource {
 public:
  BatchSource(TokenView split, std::int64_t block_size, std::int64_t batch_size, std::int64_t micro_batches, Windows windows, std::uint64_t seed);
  /// The micro-batches of update `step` (0-based).
  std::vector<Batch> at(std::int64_t step) const;
  /// Start offsets of those windows, for tests and diagnostics: micro_batches x batch_size.
  std::vector<std::int64_t> starts(std::int64_t step) const;

 private:
  TokenView split_;
  std::int64_t block_size_, batch_size_, micro_batches_;
  Windows windows_;
  std::uint64_t seed_;
};

}  // namespace chargpt
