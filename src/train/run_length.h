// How long a run is: the shortest of max_iters and max_epochs becomes one number of steps before the first of them, and
// max_seconds, where it is shorter, another one while the run goes on. Knows no model, no loss and no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "train/emitter.h"
#include "train/time_budget.h"

namespace chargpt {

/// Tokens that one step sees: batch_size * gradient_accumulation_steps * block_size.
std::int64_t tokens_per_step(const Config& config);
/// Tokens a second of so many steps that took `seconds`, without start-up, evaluations and saves; 0 before the first.
double training_speed(const Config& config, std::int64_t steps, double seconds);

/// The options that limit a run's length: "train.max_iters", "train.max_epochs", "train.max_seconds", those that are
/// set. Together they serve a short text and a long one: epochs end the first before it is memorized, steps or
/// seconds the second. A max_iters that an earlier run settled does not count.
std::vector<std::string> length_limits(const ResolvedConfig& resolved);

/// Whether a run resumed from a checkpoint with options `earlier` keeps its settled max_iters: no limit was changed.
bool keeps_length(const TrainConfig& now, const TrainConfig& earlier);

/// What max_seconds has come to in another run with the same options, which is replayed whatever the clock says.
struct SettledLength {
  Integers decay_steps{};       ///< empty: there is none
  std::int64_t eval_iters = 0;  ///< eval.eval_iters of that run
};

/// Whether train.max_seconds is among them: then only the clock can tell the number of steps.
bool needs_pace(const std::vector<std::string>& limits);

/// The origin of what max_seconds has settled.
inline constexpr const char* seconds_key = "train.max_seconds";

/// Whether max_seconds has limited eval.eval_iters.
bool limits_evaluations(const ResolvedConfig& resolved);
/// Undoes that, for a run of another length.
void lift_limit_of_evaluations(ResolvedConfig& resolved);

/// Writes the steps that `option` (not max_iters) comes to into max_iters, with an origin that says so and whether a
/// longer max_iters was asked for.
void settle_steps(ResolvedConfig& resolved, const std::string& option, std::int64_t steps);
/// max_iters as it was asked for, where train.max_epochs has lowered it: on another text, or with another limit, that
/// does not count.
void lift_limit_of_steps(ResolvedConfig& resolved);

/// The option that max_iters comes from, now or in the process that began the run.
std::string length_set_by(const ResolvedConfig& resolved);

/// Steps that see `max_epochs` times the train split, rounded up. Error usage above 1e12.
std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens);

/// The length of one run: its config with the number of steps settled, and what of train.max_seconds is left.
class RunLength {
 public:
  /// `asked`: the options as they were given. Error usage as steps_of_epochs. `clock` must outlive it.
  RunLength(ResolvedConfig asked, std::int64_t train_tokens, SettledLength known, const RunClock& clock);
  RunLength(const RunLength&) = delete;
  RunLength& operator=(const RunLength&) = delete;

  /// The same for a run that goes on: it keeps its length, and what was decided of it, unless a limit was changed.
  void resume(const TrainConfig& earlier);

  const ResolvedConfig& asked() const { return asked_; }
  /// With the length settled: max_iters, train.decay_steps under train.max_seconds, and eval.eval_iters if evaluations
  /// would take too much of it. Its address stays the same.
  const ResolvedConfig& config() const { return config_; }
  /// As far as is known: under train.max_seconds the last step planned.
  std::int64_t steps() const;

  /// Whether train.max_seconds decides how many steps there are; if not, the functions below do nothing.
  bool by_clock() const { return budget_.has_value(); }
  /// Before the first step of a process, with `step` done: see TimeBudget.
  void expect(double seconds_per_step, const ClosingSeconds& closing, std::int64_t step);
  void follow_step(std::int64_t step);
  void follow(double ClosingSeconds::*part, double spent);
  /// Whether time was up before the planned steps were done.
  bool cut() const { return budget_ && budget_->cut(); }
  /// For an evaluation after `step`, before the last.
  bool has_time_on_the_way(std::int64_t step) const { return !budget_ || budget_->has_time_on_the_way(steps() - step); }
  /// Infinite where there is no train.max_seconds.
  double seconds_for_evaluation(bool last) const;
  double spare_seconds() const { return budget_ ? budget_->spare_seconds() : 0; }
  /// From here on evaluations score no more than so many batches.
  void limit_evaluations(std::int64_t eval_iters);

 private:
  void settle();
  void start_budget();

  ResolvedConfig asked_, config_;
  std::int64_t train_tokens_;
  SettledLength known_;
  const RunClock& clock_;
  std::optional<TimeBudget> budget_;
};

}  // namespace chargpt
