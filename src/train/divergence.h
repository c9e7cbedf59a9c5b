// Detects divergence, and reports what a user needs to know about the failed step. Independent of schedule and clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/arena.h"
#include "run/checkpoint.h"
#include "train/learner.h"
#include "train/saving.h"

namespace chargpt {

/// Stops a run when a loss, gradient or weight is NaN or infinite.
class DivergenceCheck {
 public:
  /// All arguments must outlive it. `saver` knows the last good checkpoint.
  DivergenceCheck(Learner& learner, const RunProgress& progress, const Saver& saver);

  /// Error diverged, with the step's windows and gradients, if its loss or gradient is not finite.
  void check_step(const Gradients& gradients) const;
  /// Error diverged if the validation loss is not finite.
  void check_loss(double val_loss) const;
  /// Error diverged if a weight is not finite; such weights must not be saved.
  void check_weights() const;

 private:
  [[noreturn]] void diverged(const std::string& what) const;

  Learner& learner_;
  const RunProgress& progress_;
  const Saver& saver_;
};

/// "its windows start at 12, 99, … of the train split; largest gradient norms: NAME 3e+20, …": at most 16 windows, and
/// the 4 worst norms of the last step: NaN, infinite, then by size.
std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena);

}  // namespace chargpt
