// Detects loss spikes and divergence, and reports what a user needs to know about a failed step. Independent of
// schedule and clock.
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

/// Running mean and variance of the loss, which distinguish a spike from noise.
struct LossTrend {
  double mean = 0, variance = 0;
  std::int64_t count = 0;  ///< losses so far
};

/// Updates the trend with one loss. Mean and variance are over all losses for the first 50, then exponentially weighted
/// with 1/50 (Welford's update in the form of Finch, 2009, "Incremental calculation of weighted mean and variance").
LossTrend followed_by(const LossTrend& trend, double loss);

/// A greater loss is a spike: the mean plus 1 nat or 6 standard deviations, whichever is more; infinity before 20
/// losses.
double spike_threshold(const LossTrend& trend);

/// Stops a run when a loss, gradient or weight is NaN or infinite. A resumed process starts a new trend.
class DivergenceCheck {
 public:
  /// All arguments must outlive it. `saver` knows the last good checkpoint.
  DivergenceCheck(Learner& learner, const RunProgress& progress, const Saver& saver, const EventEmitter& emitter);

  /// Error diverged if the step's loss or gradient is not finite. The first loss spike is a notice; later ones, and
  /// windows and gradients of each, are details (--verbose).
  void check_step(const StepResult& result);
  /// Error diverged if the validation loss is not finite.
  void check_loss(double val_loss) const;
  /// Error diverged if a weight is not finite; such weights must not be saved.
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

/// The norm of one parameter's gradient.
struct GradientNorm {
  std::string name;
  double norm = 0;
};

/// Gradient norms of the last step, worst first: NaN, infinite, then by size.
std::vector<GradientNorm> gradient_norms(const ParameterArena& arena);

/// "its windows start at 12, 99, … of the train split; largest gradient norms: NAME 3e+20, …": at most 16 windows and
/// the 4 worst norms.
std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena);

}  // namespace chargpt
