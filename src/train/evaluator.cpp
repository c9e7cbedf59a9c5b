#include "train/evaluator.h"

#include <algorithm>
#include <limits>

#include "evaluate/split_loss.h"
#include "optimizer/averages.h"

namespace chargpt {
namespace {

/// Windows of a whole split, the last one short.
std::int64_t windows_of(TokenView split, std::int64_t block_size) {
  return (split.size() - 1 + block_size - 1) / block_size;
}

}  // namespace

Evaluator::Evaluator(const Config& config, const Corpus& corpus, Learner& learner, const EventEmitter& emitter)
    : config_(config), corpus_(corpus), learner_(learner), emitter_(emitter) {}

std::int64_t Evaluator::all_val_windows() const {
  return windows_of(corpus_.val(), config_.model.block_size);
}

std::int64_t Evaluator::val_windows() const {
  const std::int64_t asked = config_.eval.eval_iters * config_.train.batch_size;
  return asked > 0 ? std::min(all_val_windows(), asked) : all_val_windows();
}

/// Spread evenly over the split; a quarter of what validation's exact loss takes is enough to see overfitting.
std::int64_t Evaluator::train_windows() const {
  const std::int64_t wanted =
      config_.eval.eval_iters > 0 ? val_windows() : std::max<std::int64_t>(1, val_windows() / 4);
  return std::min(windows_of(corpus_.train(), config_.model.block_size), wanted);
}

std::int64_t Evaluator::windows_scored() const {
  return (learner_.averages.any() ? 2 : 1) * val_windows() + train_windows();
}

EvaluationLosses Evaluator::evaluate() {
  const bool averages = learner_.averages.any();
  const double val_done = averages ? 0.4 : 0.7, train_done = averages ? 0.6 : 1;  // of the work
  EvaluationLosses losses;
  losses.val = validation_loss(0, val_done);
  losses.train = sampled_loss(*learner_.engine, corpus_.train(), config_.model.block_size, train_windows(),
                              emitter_.heartbeat("evaluating", val_done, train_done));
  if (!averages) return losses;
  const AveragedWeights::InUse in_use(learner_.averages, learner_.arena);
  losses.averaged_val = validation_loss(train_done, 1);
  return losses;
}

double Evaluator::validation_loss(double from, double to) {
  const std::int64_t block_size = config_.model.block_size;
  const Heartbeat beat = emitter_.heartbeat("evaluating", from, to);
  beat(0);
  if (exact()) return split_loss(*learner_.engine, corpus_.val(), block_size, 0, beat).mean;
  return sampled_loss(*learner_.engine, corpus_.val(), block_size, val_windows(), beat);
}

void record_losses(RunProgress& progress, const EvaluationLosses& losses) {
  progress.val_loss = losses.val;
  progress.averaged_val_loss = losses.averaged_val.value_or(std::numeric_limits<double>::infinity());
  if (progress.step == 0) return;
  const double better = std::min(progress.val_loss, progress.averaged_val_loss);
  if (better < progress.best_val_loss) {
    progress.best_val_loss = better;
    progress.best_step = progress.step;
    progress.evals_without_improvement = 0;
  } else {
    ++progress.evals_without_improvement;
  }
}

}  // namespace chargpt
