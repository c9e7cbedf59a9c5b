#include "train/pace.h"

#include <algorithm>
#include <cmath>

#include "engine/device.h"
#include "learner/learner.h"
#include "train/emitter.h"
#include "train/evaluator.h"
#include "train/footprint.h"

namespace chargpt {
namespace {

constexpr double most_steps_planned = 1e12;
constexpr std::int64_t tokens_evaluated_at_once = 4096;  ///< see evaluate/split_loss.cpp
constexpr double bytes_saved_per_second = 5e8;           ///< expected, until a save has been timed

double seconds_per_step_in_all(const Pace& pace, std::int64_t eval_interval) {
  return pace.seconds_per_step +
         (pace.seconds_per_evaluation + pace.seconds_per_save) / static_cast<double>(eval_interval);
}

double seconds_around_the_steps(const Pace& pace) {
  return 2 * pace.seconds_per_evaluation + pace.seconds_per_save;
}

}  // namespace

double seconds_kept_for(const ClosingWork& closing, const Pace& pace, double max_seconds) {
  constexpr double most = 0.2;
  const double validations = closing.validations * pace.seconds_per_validation;
  return closing.seconds + (validations <= most * max_seconds ? validations : 0);
}

std::int64_t evaluated_batches(double seconds, const Pace& pace, std::int64_t windows, std::int64_t batch_size) {
  constexpr double most = 0.1;
  const double part = most * std::max(0.0, seconds) / std::max(1e-9, pace.seconds_per_evaluation);
  if (part >= 1) return 0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(part * static_cast<double>(windows)) / batch_size);
}

std::int64_t steps_of_seconds(double seconds, const Pace& pace, std::int64_t eval_interval) {
  const double left = seconds - seconds_around_the_steps(pace);
  const double steps = std::floor(left / std::max(1e-9, seconds_per_step_in_all(pace, eval_interval)));
  return static_cast<std::int64_t>(std::clamp(steps, 1.0, most_steps_planned));
}

double seconds_of_steps(std::int64_t steps, const Pace& pace, std::int64_t eval_interval) {
  return static_cast<double>(steps) * seconds_per_step_in_all(pace, eval_interval) + seconds_around_the_steps(pace);
}

double measured_seconds_per_step(const std::function<double(std::int64_t)>& timed_step, double seconds,
                                 std::int64_t most_steps) {
  constexpr double cold =
      4;  // times as long as the others the first may take: it touches its memory for the first time
  const double warm_up = timed_step(0);
  double spent = 0;
  std::int64_t steps = 0;
  while (steps < most_steps && (steps == 0 ? warm_up / cold : spent) < seconds) spent += timed_step(++steps);
  return steps == 0 ? warm_up : spent / static_cast<double>(steps);
}

PaceMeter::PaceMeter(const Config& config, std::int64_t vocab_size, Learner& learner, const Evaluator& evaluator,
                     const RunClock& clock, const EventEmitter& emitter)
    : config_(config),
      vocab_size_(vocab_size),
      learner_(learner),
      evaluator_(evaluator),
      clock_(clock),
      emitter_(emitter) {}

Pace PaceMeter::measure(std::int64_t step, double seconds, std::int64_t most_steps) {
  Pace pace;
  seconds = clock_.agreed(seconds);
  const LearnerSnapshot before = learner_.snapshot();
  try {
    pace.seconds_per_step = seconds_per_step(step, seconds, most_steps);
  } catch (...) {
    learner_.restore(before);
    throw;
  }
  learner_.restore(before);
  measure_evaluation(pace);
  pace.seconds_per_save = seconds_per_save();
  return pace;
}

void PaceMeter::measure_evaluation(Pace& pace) {
  const double per_window = seconds_per_window();
  pace.seconds_per_evaluation = per_window * static_cast<double>(evaluator_.windows_scored());
  pace.seconds_per_validation = per_window * static_cast<double>(evaluator_.all_val_windows());
}

std::int64_t PaceMeter::val_windows() const {
  return evaluator_.val_windows();
}

double PaceMeter::seconds_per_step(std::int64_t step, double seconds, std::int64_t most_steps) {
  const Heartbeat measured = emitter_.heartbeat("measuring");
  const auto timed_step = [&](std::int64_t after) {
    const double begun = clock_.now();
    learner_.make_step(step + after, measured);
    synchronize(learner_.device);
    return clock_.agreed(clock_.now() - begun);
  };
  return measured_seconds_per_step(timed_step, seconds, most_steps);
}

/// In batches of as many tokens as evaluations take at once; the second, as the first warms up.
double PaceMeter::seconds_per_window() {
  const std::vector<std::int64_t> some = learner_.batches.starts(0);
  const WindowBatch one = learner_.batches.micro_batches(some).front();
  std::vector<std::int64_t> starts;
  do starts.insert(starts.end(), one.starts.begin(), one.starts.end());
  while ((std::ssize(starts) + one.B()) * one.T <= tokens_evaluated_at_once);
  const WindowBatch batch{.tokens = one.tokens, .starts = starts, .T = one.T};
  std::vector<float> losses(static_cast<std::size_t>(batch.numel()));
  const Heartbeat measured = emitter_.heartbeat("measuring");
  const auto score = [&] {
    learner_.scorer.score(batch, losses);
    measured(1);
  };
  score();
  const double begun = clock_.now();
  score();
  return clock_.agreed(clock_.now() - begun) / static_cast<double>(batch.B());
}

/// Expected: nothing is written before the first step.
double PaceMeter::seconds_per_save() const {
  const double checkpoints = static_cast<double>(config_.train.keep + 1);
  return static_cast<double>(disk_estimate(config_, vocab_size_, learner_.arena.numel())) / checkpoints /
         bytes_saved_per_second;
}

}  // namespace chargpt
