// Evaluates a run: losses on fixed windows of train and validation split, the record of the best, and sample texts.
// Independent of clocks and files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/token_view.h"
#include "config/config.h"
#include "evaluate/split_loss.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "train/emitter.h"
#include "train/learner.h"

namespace chargpt {

/// Forward passes that take about as long as one training step on the same tokens.
inline constexpr double passes_of_step = 3;

struct EvaluationLosses {
  double val = 0;
  double train = 0;
  std::optional<double> averaged_val{};  ///< of the averaged weights, if any
  std::vector<float> of_tokens{};        ///< of the whole validation split by the better weights; else empty
};

class Evaluator {
 public:
  /// All arguments must outlive it.
  Evaluator(const Config& config, const Corpus& corpus, Learner& learner, const EventEmitter& emitter);

  /// Evaluates on `val_windows` windows of the validation split. An interruption leaves nothing behind.
  EvaluationLosses evaluate(std::int64_t val_windows);
  /// Samples eval.sample_tokens symbols after the id `start`, with the options of section `sample`. The random numbers
  /// are the same in each call, so only the weights make a difference.
  std::string sample_text(std::int64_t start);
  /// Scores one batch of windows, so that the caller can time it. Returns the number of windows.
  std::int64_t score_some();
  /// The number of windows of a whole evaluation on `val_windows` windows of the validation split: both splits, with
  /// trained and averaged weights.
  std::int64_t windows_scored(std::int64_t val_windows) const;
  /// The number of windows of the validation split.
  std::int64_t all_windows() const { return val_cut_.count(); }

 private:
  std::int64_t train_windows(std::int64_t val_windows) const;
  /// Returns losses of single tokens only if all windows are scored.
  SplitLoss validation_loss(std::int64_t val_windows, const Heartbeat& beat);

  const Config& config_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
  const WindowCut val_cut_;  ///< kept: dividing a long text of documents takes longer than a sample
  const WindowCut& train_cut_;
};

/// How many windows of the validation split each evaluation scores: eval.eval_iters batches, if set. Else all of them
/// (the greatest integer) if evaluations take at most a quarter of the run, measured in passes over tokens; else as
/// many as fit into a tenth of the run, at least 32,768 tokens. `interval`: steps between evaluations; 0: unknown, as
/// under a clock.
std::int64_t windows_to_score(const Config& config, std::int64_t val_tokens, std::int64_t interval);

/// Stores the losses at progress.step. The better of trained and averaged weights becomes the best if it is below the
/// best so far and below `guessing`. The evaluation before the first step never does, because it has no checkpoint.
void record_losses(RunProgress& progress, const EvaluationLosses& losses, double guessing);

}  // namespace chargpt
