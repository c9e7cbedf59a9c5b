// The losses that a run is judged by, on fixed windows of both splits, the record of the best, and what the model
// writes beside them. Knows no step, no clock, no policy and no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/token_view.h"
#include "config/load.h"
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
};

class Evaluator {
 public:
  /// All must outlive it; eval.eval_iters may change between evaluations.
  Evaluator(const Config& config, const Corpus& corpus, Learner& learner, const EventEmitter& emitter);

  /// Where it is called off on the way (Interrupted, or by what `watch` throws), it leaves nothing behind.
  EvaluationLosses evaluate(const Heartbeat& watch = {});
  /// eval.sample_tokens symbols after `start`, drawn by the section `sample`; only the weights differ between calls.
  std::string sample_text(std::int64_t start);
  /// Scores as many windows as evaluations take at once, to be timed. Returns how many.
  std::int64_t score_some();
  /// Of the validation split: eval.eval_iters batches, or all; never more than it has.
  std::int64_t val_windows() const;
  /// Everything an evaluation scores: both splits, with trained and averaged weights.
  std::int64_t windows_scored() const;
  /// Whether the whole validation split is scored.
  bool exact() const { return val_windows() == val_cut_.count(); }

 private:
  std::int64_t train_windows() const;
  double validation_loss(const Heartbeat& beat);

  const Config& config_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
  const WindowCut val_cut_, train_cut_;  ///< kept: cutting a long text of documents takes longer than what is sampled
};

/// In a new run, evaluations of a long validation split (over 131,072 tokens) score a part of it, 32,768 tokens or as
/// many as keep all evaluations together within a tenth of the run: sets eval.eval_iters where only a default or a
/// preset has.
void limit_evaluations_of_long_split(ResolvedConfig& config, std::int64_t val_tokens);
/// Whether that has happened, now or when the run began.
bool scores_part_of_long_split(const ResolvedConfig& config);

/// Writes the losses at progress.step into it; the better of trained and averaged weights decides whether they are the
/// best. A loss before the first step is shown but never counts as the best: it has no checkpoint.
void record_losses(RunProgress& progress, const EvaluationLosses& losses);

}  // namespace chargpt
