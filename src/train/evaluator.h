// The losses that a run is judged by, on fixed windows of both splits, the record of the best, and what the model
// writes beside them. Independent of clocks and files.
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

/// Forward passes that cost about as much as a step on the same tokens.
inline constexpr double passes_of_step = 3;

struct EvaluationLosses {
  double val = 0;
  double train = 0;
  std::optional<double> averaged_val{};  ///< of the averaged weights, if there are any
  std::vector<float> of_tokens{};        ///< of the whole validation split by the better weights; else empty
};

class Evaluator {
 public:
  /// All must outlive it; `progress` says how many windows of the validation split are scored.
  Evaluator(const Config& config, const Corpus& corpus, Learner& learner, const RunProgress& progress,
            const EventEmitter& emitter);

  /// On so many windows of the validation split. Interrupted on the way, it leaves nothing behind.
  EvaluationLosses evaluate(std::int64_t val_windows);
  /// eval.sample_tokens symbols after `start`, drawn by the section `sample`; only the weights differ between calls.
  std::string sample_text(std::int64_t start);
  /// Scores as many windows as evaluations take at once, to be timed. Returns how many.
  std::int64_t score_some();
  /// Everything an evaluation scores: both splits, with trained and averaged weights.
  std::int64_t windows_scored() const;
  /// Of the validation split.
  std::int64_t all_windows() const { return val_cut_.count(); }

 private:
  std::int64_t train_windows(std::int64_t val_windows) const;
  /// Losses of tokens only if all windows are scored.
  SplitLoss validation_loss(std::int64_t val_windows, const Heartbeat& beat);

  const Config& config_;
  const RunProgress& progress_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
  const WindowCut val_cut_, train_cut_;  ///< kept: cutting a long text of documents takes longer than what is sampled
};

/// Windows of a validation split of so many tokens that each evaluation scores: eval.eval_iters batches; where that is
/// 0 all (the greatest number), if evaluations then take at most a quarter of the run (by the passes of its model over
/// tokens), else what a tenth of the run allows, at least 32,768 tokens. `interval`: steps between evaluations; 0: not
/// known, as under a clock.
std::int64_t windows_to_score(const Config& config, std::int64_t val_tokens, std::int64_t interval);

/// Writes the losses at progress.step into it; the better of trained and averaged weights decides whether they are the
/// best, which must be below `guessing`. A loss before the first step is never the best: it has no checkpoint.
void record_losses(RunProgress& progress, const EvaluationLosses& losses, double guessing);

}  // namespace chargpt
