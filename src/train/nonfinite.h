// What is done about a step or an evaluation that is not finite, by train.on_nonfinite: stop, skip, or roll back to the
// last good point. Knows no schedule, no clock and not what an evaluation costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "learner/learner.h"
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

  std::optional<RollbackPoint> point_before(const Checkpoint& checkpoint, std::string& notice) const;
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

}  // namespace chargpt
