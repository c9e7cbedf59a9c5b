// Which windows of a split each step is shown: a pure function of (seed, step, micro-batch). Knows no model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "network/window_scorer.h"
#include "text/corpus.h"

namespace chargpt {

/// Where windows come from. random: uniform starts in [0, n - T). shuffled: each epoch draws an offset in [0, T), cuts
/// the split into windows from there and visits each once, in an order drawn anew. Every epoch has floor((n - 1) / T)
/// windows: where the offset leaves one less, the last T + 1 tokens are the missing one. A batch that an epoch cannot
/// fill goes on with the next epoch's windows. In a text of documents, windows are those that hold documents whole, and
/// parts of long ones (see base/token_view.h): random draws from them, shuffled visits each once an epoch, and moves
/// the parts back by an offset of the epoch.
class BatchSource {
 public:
  /// As `train` has them: batch_size, gradient_accumulation_steps, windows, seed.
  BatchSource(TokenView split, std::int64_t block_size, const TrainConfig& train);
  /// Where the windows of step `step` (0-based) start: micro_batches x batch_size.
  std::vector<std::int64_t> starts(std::int64_t step) const;
  /// The micro-batches of a step whose windows start there; `starts` must outlive them.
  std::vector<WindowBatch> micro_batches(std::span<const std::int64_t> starts) const;
  std::int64_t windows_per_epoch() const {
    return rows_.empty() ? (split_.size() - 1) / block_size_ : std::ssize(rows_);
  }

 private:
  std::int64_t random_start(RandomStream& random) const;
  std::int64_t shuffled_start(std::int64_t index) const;
  std::int64_t document_row(std::int64_t row, std::int64_t offset) const;

  TokenView split_;
  std::int64_t block_size_, batch_size_, micro_batches_;
  Windows windows_;
  std::uint64_t seed_;
  std::vector<std::int64_t> rows_;  ///< where windows begin in a text of documents
};

/// Where `index` goes in a permutation of [0, count) drawn by `key`: in constant memory, each place taken once.
std::int64_t permuted(std::int64_t index, std::int64_t count, std::uint64_t key);

}  // namespace chargpt
