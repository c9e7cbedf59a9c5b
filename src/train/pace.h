// How fast a run goes on this machine: measured before the first step, and what that means for steps and seconds. Knows
// no limit of a run's length and no loss.
#pragma once

#include <cstdint>
#include <functional>

#include "config/config.h"

namespace chargpt {

class EventEmitter;
class Evaluator;
class RunClock;
struct Learner;

/// In seconds.
struct Pace {
  double seconds_per_step = 0;
  double seconds_per_evaluation = 0;  ///< of the run, as its options say
  double seconds_per_save = 0;
  double seconds_per_validation = 0;  ///< of the whole validation split, once
};

/// Work that follows a run and must also fit into train.max_seconds.
struct ClosingWork {
  double validations = 0;   ///< passes over the whole validation split
  double seconds = 0;       ///< of everything else
  std::int64_t memory = 0;  ///< bytes at most, beside what the run holds until the process ends
};

/// The closing work that `max_seconds` leaves time for: all of it or, if its validations would take more than a fifth,
/// only the rest of it.
double seconds_kept_for(const ClosingWork& closing, const Pace& pace, double max_seconds);

/// eval.eval_iters that keep an evaluation, whose `windows` windows take pace.seconds_per_evaluation in all, within a
/// tenth of `seconds`; 0 if all of them fit.
std::int64_t evaluated_batches(double seconds, const Pace& pace, std::int64_t windows, std::int64_t batch_size);

/// The part of the time left that is planned for steps: a machine that turns out to be slower by the rest still ends
/// its run, and its schedule, in time.
inline constexpr double planned_part = 0.95;

/// Steps that fit into `seconds`, with an evaluation and a save every eval_interval, an evaluation before and both
/// after; at least 1.
std::int64_t steps_of_seconds(double seconds, const Pace& pace, std::int64_t eval_interval);

/// The inverse: seconds of `steps` more steps with their evaluations and saves.
double seconds_of_steps(std::int64_t steps, const Pace& pace, std::int64_t eval_interval);

/// The mean of steps for about `seconds`, no more than `most_steps`, after one that warms up; that one alone if it took
/// several times as long. timed_step makes the step so many after the first, and returns its seconds.
double measured_seconds_per_step(const std::function<double(std::int64_t)>& timed_step, double seconds,
                                 std::int64_t most_steps);

/// Measures by steps and evaluations that leave no trace.
class PaceMeter {
 public:
  /// All must outlive it.
  PaceMeter(const Config& config, std::int64_t vocab_size, Learner& learner, const Evaluator& evaluator,
            const RunClock& clock, const EventEmitter& emitter);

  /// By measured_seconds_per_step, of the steps from `step` on. Interrupted if the run is to stop: weights and moments
  /// are as before in any case.
  Pace measure(std::int64_t step, double seconds, std::int64_t most_steps);
  /// Measures again what depends on eval.eval_iters.
  void measure_evaluation(Pace& pace);
  /// Of the validation split, that an evaluation scores.
  std::int64_t val_windows() const;

 private:
  double seconds_per_step(std::int64_t step, double seconds, std::int64_t most_steps);
  double seconds_per_window();
  double seconds_per_save() const;

  const Config& config_;
  std::int64_t vocab_size_;
  Learner& learner_;
  const Evaluator& evaluator_;
  const RunClock& clock_;
  const EventEmitter& emitter_;
};

}  // namespace chargpt
