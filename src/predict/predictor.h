// The interface that predicts the next symbol. Sampling, scoring, evaluation and audits use a predictor instead of a
// network. Independent of texts, filters and files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_view.h"
#include "network/window_scorer.h"

namespace chargpt {

/// Predicts the distribution of the next symbol from the symbols so far. It returns logits, which may be off by a
/// constant: their softmax is the distribution.
class Predictor : public WindowScorer {
 public:
  struct Rows {
    float* first;         ///< (B, V): logits at the last position of each sequence; the caller may overwrite them
    std::int64_t stride;  ///< row stride in floats
  };
  virtual std::int64_t vocab_size() const = 0;
  /// Maximum number of symbols in a window to score.
  virtual std::int64_t block_size() const = 0;

  /// Starts `sequences` equal sequences with these ids (at least one).
  virtual Rows start(std::span<const std::int64_t> ids, std::int64_t sequences) = 0;
  /// Continues these rows of the batch, in ascending order, each with its id of `ids`.
  virtual Rows advance(std::span<const std::int64_t> rows, std::span<const std::int64_t> ids) = 0;
  /// Number of sequences per batch.
  virtual std::int64_t at_once() const = 0;
  /// Number of threads that compute the rows of a batch.
  virtual int threads() const { return 1; }

  /// Number of tokens to score per call; their logits need at most 64 MB.
  std::int64_t tokens_at_once() const override { return logits_at_once(WindowScorer::tokens_at_once(), vocab_size()); }
  /// Computes the logits of every position of the windows: (B, T, V), float32. Throws the errors of check_windows().
  virtual void logits(const WindowBatch& windows, std::span<float> logits) = 0;

  /// Computes the losses of targets [from, to) of one window, (to - from), before learning from them; an adaptive
  /// predictor then learns from them.
  virtual void score_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> losses);
  /// Does the same, but returns the logits of all positions of the window: (length, V).
  virtual void logits_and_learn(const TokenView& tokens, const WindowCut::Window& window, std::span<float> logits);
};

}  // namespace chargpt
