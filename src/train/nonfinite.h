// What is done about a step or an evaluation that is not finite, by train.on_nonfinite: stop, skip, or roll back to the
// last good point; and, by pure functions, when a loss is a spike, and what a person needs to know of a step that went
// wrong. Knows no schedule, no clock and not what an evaluation costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "learner/learner.h"
#include "parameters/arena.h"
#include "train/emitter.h"
#include "train/saving.h"

namespace chargpt {

/// A rollback takes weights, moments and averages back, not the step: its windows and those before it, back to the
/// rollback point, are not drawn again. Of its own state all that a resumed run needs is in `progress`; the rollback
/// point is a checkpoint, which progress.rollback_step names.
class NonfinitePolicy {
 public:
  /// All must outlive it. `saver` only says where the last good checkpoint is, and whether it is there.
  NonfinitePolicy(Learner& learner, RunProgress& progress, const Saver& saver, const EventEmitter& emitter);

  bool rolls_back() const { return policy_ == OnNonfinite::rollback; }
  /// Goes on with the progress of `checkpoint`, as far as the policy still needs it. Returns a notice, or nothing.
  std::string resume(const Checkpoint& checkpoint);
  /// The untrained weights, or those resumed from, are the rollback point if there is no other.
  void before_first_step();
  /// Whether the step counts. If not, it is undone or was skipped, with a notice. Follows the loss: a spike is undone
  /// too if the policy is to roll back, and else noticed. Error diverged after 100 skips in a row, or
  /// 10 returns to one point, or at once.
  bool accepts(const StepResult& result);
  /// True if the policy is to roll back and the loss is not finite: the weights are again those of the rollback point,
  /// and the evaluation is to be repeated. Error diverged if the policy is to stop.
  bool takes_back(double val_loss);
  /// From here on a rollback returns here. A checkpoint of it lets a resumed run do the same.
  void keep_rollback_point();
  /// Error diverged if a weight is not finite: such weights are never saved.
  void check_weights() const;

 private:
  struct RollbackPoint {
    std::int64_t step = 0;
    LossTrend trend;
    std::optional<ArenaSnapshot> snapshot{};
    std::filesystem::path checkpoint{};  ///< where it is, if not in memory: in a run that was resumed after it
  };

  void return_to(const RollbackPoint& point);
  void roll_back(const std::string& what);
  void skip(const StepResult& result);
  std::string diagnosed(const StepResult& result) const;
  std::string of_weights() const;
  [[noreturn]] void diverged(const std::string& what) const;

  Learner& learner_;
  RunProgress& progress_;
  const Saver& saver_;
  const EventEmitter& emitter_;
  OnNonfinite policy_;
  std::optional<RollbackPoint> last_good_;
  bool just_rolled_back_ = false;  ///< and no good step since
};

/// The trend after one more loss: mean and variance over all losses so far, or, after the first 50, exponentially
/// weighted with 1/50 (Welford's update in the form of Finch, 2009, "Incremental calculation of weighted mean and
/// variance"). Losses that are not finite change nothing.
LossTrend followed_by(const LossTrend& trend, double loss);

/// The loss from which a step is a spike: 1 nat and 6 standard deviations above the mean; infinity before 20 losses.
double spike_threshold(const LossTrend& trend);

/// Norm of one parameter's gradient.
struct GradientNorm {
  std::string name;
  double norm = 0;
};

/// Norms of the gradients that the last step left in the arena, worst first: NaN, infinite, then the largest.
std::vector<GradientNorm> gradient_norms(const ParameterArena& arena);

/// "its windows start at 12, 99, … of the train split; largest gradient norms: NAME 3e+20, …". The first 16 windows and
/// the 4 worst norms are named.
std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena);

}  // namespace chargpt
