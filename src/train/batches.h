// Chooses the windows of each step, as a pure function of (seed, step, micro-batch). Independent of models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "config/config.h"
#include "network/window_scorer.h"
#include "text/corpus.h"

namespace chargpt {

/// Chooses windows. random: uniform starts in [0, n - T). shuffled: each epoch draws an offset in [0, T), cuts the
/// split into windows from there and visits each once, in a new random order. Every epoch has floor((n - 1) / T)
/// windows: if the offset leaves one too few, the last T + 1 tokens replace it. A batch that spans the end of an epoch
/// continues with windows of the next. With documents, windows contain whole documents, or parts of long ones (see
/// base/token_view.h): random draws among them, shuffled visits each once per epoch; both shift parts of long documents
/// back by a random offset.
class BatchSource {
 public:
  /// Uses batch_size, gradient_accumulation_steps, windows and seed of `train`. Error data if the split has no window.
  BatchSource(TokenView split, std::int64_t block_size, const TrainConfig& train);
  /// The starts of the windows of step `step` (0-based): micro_batches x batch_size positions in the split.
  std::vector<std::int64_t> starts(std::int64_t step) const;
  /// The micro-batches of a step with these window starts; `starts` must outlive them.
  std::vector<WindowBatch> micro_batches(std::span<const std::int64_t> starts) const;
  std::int64_t windows_per_epoch() const { return divided() ? cut_.count() : (split_.size() - 1) / block_size_; }
  /// The windows in which the split is scored.
  const WindowCut& scored() const { return cut_; }

 private:
  bool divided() const { return split_.document() != TokenView::no_document; }
  std::int64_t random_start(RandomStream& random) const;
  std::int64_t shuffled_start(std::int64_t index) const;
  std::int64_t document_row(std::int64_t row, std::int64_t offset) const;

  TokenView split_;
  std::int64_t block_size_, batch_size_, micro_batches_;
  Windows windows_;
  std::uint64_t seed_;
  WindowCut cut_;
  std::int64_t last_start_ = 0;  ///< only with documents: of the last window
};

/// A permutation of [0, count) drawn by `key`: returns the position of `index`, in constant memory.
std::int64_t permuted(std::int64_t index, std::int64_t count, std::uint64_t key);

}  // namespace chargpt
