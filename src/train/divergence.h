// Losses that jump, and training that diverges: when a loss is a spike, and what a user needs to know of a step that
// went wrong. Independent of schedule and clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/arena.h"
#include "run/checkpoint.h"
#include "train/emitter.h"
#include "train/learner.h"
#include "train/saving.h"

namespace chargpt {

/// Mean and variance of the latest losses, which tell a spike from noise.
struct LossTrend {
  double mean = 0, variance = 0;
  std::int64_t count = 0;  ///< losses seen
};

/// The trend after one more loss: mean and variance over all losses so far, or, after the first 50, exponentially
/// weighted with 1/50 (Welford's update in the form of Finch, 2009, "Incremental calculation of weighted mean and
/// variance").
LossTrend followed_by(const LossTrend& trend, double loss);

/// The loss from which a step is a spike: 1 nat and 6 standard deviations above the mean; infinity before 20 losses.
double spike_threshold(const LossTrend& trend);

/// Stops a run that diverges: a loss, gradient or weight is NaN or infinite. The trend starts anew in each process.
class DivergenceCheck {
 public:
  /// All must outlive it. `saver` names the last good checkpoint.
  DivergenceCheck(Learner& learner, const RunProgress& progress, const Saver& saver, const EventEmitter& emitter);

  /// Error diverged if the step's loss or gradient is not finite. Notices the first loss spike; later ones, and the
  /// windows and gradients of each, are details.
  void check_step(const StepResult& result);
  /// Error diverged if the validation loss is not finite.
  void check_loss(double val_loss) const;
  /// Error diverged if a weight is not finite: such weights are never saved.
  void check_weights() const;

 private:
  std::string figures_of(const StepResult& result) const;
  std::string cause() const;
  [[noreturn]] void diverged(const std::string& what) const;

  Learner& learner_;
  const RunProgress& progress_;
  const Saver& saver_;
  const EventEmitter& emitter_;
  LossTrend trend_;
  bool spiked_ = false;
};

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
