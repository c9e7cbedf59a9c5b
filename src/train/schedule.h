// The length of a run and its learning rate: by steps, as in nanoGPT, or under train.max_seconds by the share of time
// that has passed. Independent of model, loss and files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/config.h"
#include "run/state.h"
#include "train/emitter.h"

namespace chargpt {

/// Tokens in one step: batch_size * gradient_accumulation_steps * block_size.
std::int64_t tokens_per_step(const Config& config);
/// Training speed in tokens per second: `steps` took `seconds`, without start-up, evaluations and saves. 0 if seconds
/// is 0.
double training_speed(const Config& config, std::int64_t steps, double seconds);

/// The steps that read the train split `max_epochs` times, rounded up. Error usage above 1e12.
std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens);
/// The greatest number of updates by max_iters and max_epochs; nullopt if only max_seconds limits the run.
std::optional<std::int64_t> most_steps(const Config& config, std::int64_t train_tokens);

/// Evaluations of a run if eval.eval_interval is 0, not counting the one before the first step.
inline constexpr std::int64_t evaluations_of_run = 10;
/// Steps between evaluations; 0 if they follow shares of time. `steps`: of the whole run.
std::int64_t evaluation_interval(const Config& config, std::optional<std::int64_t> steps);

/// The part of the decay (0 to 1) before update `step` (0-based) of a run of `steps`: 0 during warm-up, 1 from
/// train.lr_decay_iters on (0: the end of the run).
double part_of_decay(const TrainConfig& train, std::int64_t step, std::int64_t steps);
/// The part of the decay under a clock. `share`: of the run's time that has passed; `warm`: that share at the end of
/// warm-up.
double part_of_decay(const TrainConfig& train, double share, double warm);

/// Learning rate of update `step` (0-based): (step + 1) / (warmup_iters + 1) of the peak during warm-up, then
/// train.lr_schedule down to min_lr, where `decayed` is the part of the decay. Sources: cosine, SGDR (Loshchilov &
/// Hutter 2017), with nanoGPT's figures; wsd, Hu et al. 2024; by shares of a budget, Li et al. 2020, "Budgeted
/// training".
double learning_rate_at(const TrainConfig& train, std::int64_t step, double decayed);
/// The learning rate as a multiple of the peak, for groups with their own peak. If train.learning_rate is 0, so that
/// only groups with their own rate learn, it follows the schedule's shape from 1 to 0.
double learning_rate_factor(const TrainConfig& train, std::int64_t step, double decayed);

/// Tracks how much of a run is done. Under max_seconds it measures the share of time before each update and keeps it in
/// RunProgress::shares. Rates and evaluations depend on these shares only, so they can be replayed bit for bit.
class Schedule {
 public:
  /// All arguments must outlive it. `replayed`: shares of another run with the same options, to use instead of the
  /// clock; empty: none. Error usage as steps_of_epochs.
  Schedule(const Config& config, std::int64_t train_tokens, std::vector<float> replayed, RunProgress& progress,
           const RunClock& clock);

  /// Call it after `progress` was taken over from a checkpoint.
  void resume();
  bool by_clock() const { return config_.train.max_seconds > 0; }
  /// How many updates are replayed with the other run's shares; 0: none.
  std::int64_t replays() const { return by_clock() ? std::ssize(replayed_) : 0; }
  /// The number of steps; 0: unknown, the clock decides.
  std::int64_t steps() const { return steps_; }
  /// Seconds left for updates and evaluations under a clock; negative if the time is over.
  double seconds_left() const;

  /// Measures the share of the run that is done. Unless shares are replayed, it never decreases within a process.
  void look();
  /// The share (0 to 1) for the next update, from the last look().
  double share() const { return share_; }
  bool over() const { return share_ >= 1; }
  double learning_rate() const { return learning_rate_at(config_.train, progress_.step, decayed()); }
  double learning_rate_factor() const {
    return chargpt::learning_rate_factor(config_.train, progress_.step, decayed());
  }
  /// Call it before each update; only the first call of a process has an effect: it ends the setup time.
  void begin_updates();
  /// Call it after an update with the rate of the last look(), once progress.step counts it. `seconds`: its duration.
  void follow_update(double seconds);
  /// Whether to evaluate now: after each eval.eval_interval steps, or, if that is 0, after each tenth of the run.
  bool evaluation_due() const;

 private:
  float measured() const;
  double decayed() const;
  void follow_share(std::int64_t update);

  const Config& config_;
  const std::vector<float> replayed_;
  RunProgress& progress_;
  const RunClock& clock_;
  std::int64_t steps_ = 0;
  float share_ = 0;
  bool updates_begun_ = false;
  double update_seconds_ = 0;  ///< duration of the last update
  // For evaluations by shares: the update after which the last one was due, its share, and the evaluation's cost in
  // shares.
  std::int64_t due_after_ = 0;
  float since_ = 0, cost_ = 0;
};

}  // namespace chargpt
