// How long a run is: the shortest of max_iters, max_epochs and max_seconds becomes one number of steps, once, before
// the first of them; after that only the clock is read. Knows no model, no loss and no file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"
#include "train/emitter.h"
#include "train/pace.h"

namespace chargpt {

/// Where an option's value comes from, "default" where that is not recorded.
std::string origin_of(const ResolvedConfig& resolved, const std::string& option);

/// Tokens that one step sees: batch_size * gradient_accumulation_steps * block_size.
std::int64_t tokens_per_step(const Config& config);

/// The options that limit a run's length: "train.max_iters", "train.max_epochs", "train.max_seconds", those that are
/// set. Together they serve a short text and a long one: epochs end the first before it is learnt by heart, steps or
/// seconds the second. A max_iters that an earlier run settled does not count.
std::vector<std::string> length_limits(const ResolvedConfig& resolved);

/// Whether a run resumed from a checkpoint with options `earlier` keeps its settled max_iters: no limit was changed.
bool keeps_length(const TrainConfig& now, const TrainConfig& earlier);

/// A length that another run with the same options has already settled: what max_seconds comes to.
struct SettledLength {
  std::int64_t max_iters = 0;   ///< 0: none has
  std::int64_t eval_iters = 0;  ///< eval.eval_iters of that run
};

/// Whether only a measurement can tell the number of steps.
bool needs_pace(const std::vector<std::string>& limits);

/// The origin of what max_seconds has settled.
inline constexpr const char* seconds_key = "train.max_seconds";

/// Whether max_seconds has limited eval.eval_iters.
bool limits_evaluations(const ResolvedConfig& resolved);

/// Writes the steps that `option` (not max_iters) comes to into max_iters, with an origin that says so and whether a
/// longer max_iters was asked for.
void settle_steps(ResolvedConfig& resolved, const std::string& option, std::int64_t steps);

/// The option that max_iters comes from, now or in the process that began the run.
std::string length_set_by(const ResolvedConfig& resolved);

/// Steps that see `max_epochs` times the train split, rounded up. Error usage above 1e12.
std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens);

/// The length of one run: its config with the number of steps settled, and what of train.max_seconds is left.
class RunLength {
 public:
  /// `asked`: the options as they were given. What needs no measuring is settled at once. Error usage as
  /// steps_of_epochs. `clock` must outlive it.
  RunLength(ResolvedConfig asked, std::int64_t train_tokens, ClosingWork closing, SettledLength known,
            const RunClock& clock);
  RunLength(const RunLength&) = delete;
  RunLength& operator=(const RunLength&) = delete;

  /// The same for a run that goes on: it keeps its length unless a limit was changed.
  void resume(const TrainConfig& earlier);
  bool settled() const { return limits_.empty(); }
  /// Settles what needs measuring, for a run of `step` finished steps. Returns a notice, or nothing. Interrupted if
  /// the run is to stop: then nothing is settled.
  std::string settle(PaceMeter& meter, std::int64_t step);

  const ResolvedConfig& asked() const { return asked_; }
  /// With the length settled: max_iters, and eval.eval_iters if evaluations would take too much of max_seconds.
  /// Its address stays the same.
  const ResolvedConfig& config() const { return config_; }
  std::int64_t steps() const { return config_.config.train.max_iters; }

  /// Seconds for the steps after `step`, measured if not done yet; none if there are none or measuring was called off.
  std::optional<double> expected_seconds(PaceMeter& meter, std::int64_t step);
  /// Whether train.max_seconds leaves time for another step with an evaluation and a save after it. The first step is
  /// taken in any case.
  bool has_time_for_step(std::int64_t step) const;
  /// The same for an evaluation and a save alone.
  bool has_time_for_evaluation(std::int64_t step) const;

  /// As it was measured, and as it has been since; all 0 before.
  Pace pace() const { return pace_.value_or(Pace{}); }
  void follow_step(double seconds);
  void follow_evaluation(double seconds);
  void follow_save(double seconds);

 private:
  void settle_what_needs_no_pace();
  void settle_limits(const std::function<std::int64_t()>& steps_of_max_seconds);
  std::int64_t measured_steps(PaceMeter& meter, std::int64_t step, std::string& notice);
  void measure(PaceMeter& meter, std::int64_t step);
  void limit_evaluations(std::int64_t eval_iters);
  double seconds_left() const;
  bool has_time_for(double seconds, std::int64_t step) const;

  ResolvedConfig asked_, config_;
  std::vector<std::string> limits_;  ///< until they have settled the length
  std::int64_t train_tokens_;
  ClosingWork closing_;
  SettledLength known_;
  const RunClock& clock_;
  std::optional<Pace> pace_;
};

}  // namespace chargpt
