// What train.max_seconds comes to in steps: how many there is time for at the pace so far, where the decay begins, and
// when its end has to be revised. Pure: it is told the time. Knows no clock, no model, no loss and no file.
#pragma once

#include <array>
#include <cstdint>

#include "config/config.h"

namespace chargpt {

/// What follows the last step, in seconds; evaluations on the way take as much.
struct ClosingSeconds {
  double evaluation = 0, sample = 0, save = 0;
};

/// The same times told give the same steps. Times are seconds of the run, summed over its processes.
class TimeBudget {
 public:
  /// `most_steps`: by the other limits.
  TimeBudget(const Config& config, std::int64_t most_steps);

  /// Before the first step: a guess of the pace, which the first steps replace.
  void expect(double seconds_per_step, const ClosingSeconds& closing, double now);
  /// A step has ended; an evaluation, a sample or a save has, which took `spent`.
  void follow_step(double now);
  void follow(double ClosingSeconds::*part, double spent, double now);

  /// Brings train.decay_steps up to date after `step` finished steps. Until the decay begins the plan is replaced; from
  /// there on a revision is added, only where the end would come too late or much too early, and seldom.
  void revise(Integers& decay_steps, std::int64_t step);
  /// Whether revise() has cut the run short because time is up.
  bool cut() const { return cut_; }

  /// Whether an evaluation before the last leaves time for so many steps.
  bool has_time_on_the_way(std::int64_t steps_to_come) const;
  /// The most that an evaluation may take: the last one until the end, others a small part of train.max_seconds.
  double seconds_for_evaluation(bool last) const;
  /// What the last evaluation leaves of train.max_seconds: it may take them where it turns out slow when half done.
  double spare_seconds() const;

 private:
  double pace() const { return spent_ / steps_; }
  void keep_in_steps(double ClosingSeconds::*part);
  double expected(double ClosingSeconds::*part) const;
  double closing() const;
  double sample_and_save() const;
  double seconds_left() const;
  std::int64_t steps_left(std::int64_t step) const;
  std::int64_t steps_to_make(std::int64_t step) const;
  bool still_fit(std::int64_t steps, double seconds) const;
  std::int64_t decay_begin(std::int64_t last) const;
  bool worth_revising(const Integers& decay_steps, std::int64_t step, std::int64_t left) const;

  const Config& config_;
  double seconds_;
  std::int64_t most_steps_;
  double now_ = 0;
  ClosingSeconds closing_;
  std::array<ClosingSeconds, 3> closing_in_steps_;  ///< steps that the last ones took as long as; 0: none so far
  double spent_ = 0, steps_ = 1;                    ///< of late, older ones counting less
  std::int64_t seen_ = 0;                           ///< steps of this process
  bool cut_ = false;
};

}  // namespace chargpt
