// What says which symbol comes next: everything that samples, scores, evaluates or audits asks a predictor, and knows
// no network. Knows no text, no filter and no file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/token_view.h"
#include "network/window_scorer.h"

namespace chargpt {

/// A distribution of the next symbol, given those so far. What it hands over are logits up to a constant: the
/// probabilities are their softmax.
class Predictor : public WindowScorer {
 public:
  struct Rows {
    float* first;         ///< of the last position of every sequence: (B, V), to be used up
    std::int64_t stride;  ///< from row to row
  };
  virtual std::int64_t vocab_size() const = 0;
  /// Symbols in a window that is scored, at most.
  virtual std::int64_t block_size() const = 0;

  /// `sequences` equal ones, of at least one id.
  virtual Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) = 0;
  /// Goes on with these rows of the batch, in ascending order, each grown by its id.
  virtual Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) = 0;
  /// Sequences that memory allows in one batch.
  virtual std::int64_t at_once() const = 0;
  virtual int threads() const { return 1; }
  /// body(row, thread) for each of so many rows of a batch, on all threads() at the same time. What it throws ends it.
  virtual void each_row(std::int64_t rows, const std::function<void(std::int64_t row, int thread)>& body) {
    for (std::int64_t row = 0; row < rows; ++row) body(row, 0);
  }

  /// Their logits take 64 MB at most.
  std::int64_t tokens_at_once() const override { return logits_at_once(WindowScorer::tokens_at_once(), vocab_size()); }
  /// Of every position of the windows: (B, T, V), float32. Errors as check_windows.
  virtual void logits(const WindowBatch& windows, std::span<float> logits) = 0;
  /// By logits().
  void score(const WindowBatch& windows, std::span<float> losses) override;

  /// Losses of the targets [from, to) of one window, into (to - from), each predicted before anything learns from it;
  /// then learns from them, if the predictor adapts.
  virtual void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses);
  /// The same, with the logits of all its positions instead of losses: (length, V).
  virtual void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits);
};

}  // namespace chargpt
