// How long a run is and what its learning rate does meanwhile: by steps as nanoGPT counts them, or, under
// train.max_seconds, by the share of its time that has passed. Independent of model, loss and files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "run/state.h"
#include "train/emitter.h"

namespace chargpt {

/// Tokens that one step sees: batch_size * gradient_accumulation_steps * block_size.
std::int64_t tokens_per_step(const Config& config);
/// Tokens a second of so many steps that took `seconds`, without start-up, evaluations and saves; 0 before the first.
double training_speed(const Config& config, std::int64_t steps, double seconds);

/// The options that limit a run's length and are set; train.max_iters where no other is.
std::vector<std::string> length_limits(const TrainConfig& train);
/// Steps that see `max_epochs` times the train split, rounded up. Error usage above 1e12.
std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens);
/// How many updates max_iters and max_epochs allow; nullopt if only max_seconds limits the run.
std::optional<std::int64_t> most_steps(const Config& config, std::int64_t train_tokens);

/// Of a run where eval.eval_interval is 0, not counting the one before the first step.
inline constexpr std::int64_t evaluations_of_run = 10;
/// Steps from one evaluation to the next; 0: by shares of time. `steps`: of the run.
std::int64_t evaluation_interval(const Config& config, std::optional<std::int64_t> steps);

/// The part of the decay that is done before update `step` (0-based) of a run of so many: 0 during warm-up, 1 from
/// train.lr_decay_iters (0: the run's end) on.
double part_of_decay(const TrainConfig& train, std::int64_t step, std::int64_t steps);
/// The same of a run under a clock: `share` of its time has passed, and `warm` when its warm-up ended.
double part_of_decay(const TrainConfig& train, double share, double warm);

/// Rate of update `step` (0-based): warm-up (step+1)/(warmup_iters+1) of the peak, then train.lr_schedule, of which
/// `decayed` is done, down to min_lr. Cosine: SGDR (Loshchilov & Hutter 2017), same figures as nanoGPT; wsd: Hu et al.
/// 2024. By shares of a budget: Li et al. 2020, "Budgeted training".
double learning_rate_at(const TrainConfig& train, std::int64_t step, double decayed);
/// The same as a part of the peak: what each group's own peak is multiplied by. If train.learning_rate is 0, so that
/// parameters without a rate of their own do not move, groups with one follow the shape from 1 to 0.
double learning_rate_factor(const TrainConfig& train, std::int64_t step, double decayed);

/// Where a run is in its length. Under max_seconds the share of its time is measured before each update and kept in
/// RunProgress::shares, from which rates and evaluations follow, so that it can be replayed to the bit.
class Schedule {
 public:
  /// All must outlive it. `replayed`: the shares of another run of the same options, whatever the clock says; empty:
  /// none. Error usage as steps_of_epochs.
  Schedule(const Config& config, std::int64_t train_tokens, std::vector<float> replayed, RunProgress& progress,
           const RunClock& clock);

  /// The progress was taken over from a checkpoint.
  void resume();
  bool by_clock() const { return config_.train.max_seconds > 0; }
  /// Updates of the other run whose shares are replayed; 0: none are.
  std::int64_t replays() const { return by_clock() ? std::ssize(replayed_) : 0; }
  /// 0: unknown, the clock decides.
  std::int64_t steps() const { return steps_; }
  /// What is left for updates and evaluations under a clock, in seconds; negative: nothing.
  double seconds_left() const;

  /// Measures the share of the run that is done. It does not fall within a process, but where shares are replayed.
  void look();
  /// The share of the next update, 0 to 1, as of the last look().
  double share() const { return share_; }
  bool over() const { return share_ >= 1; }
  double learning_rate() const { return learning_rate_at(config_.train, progress_.step, decayed()); }
  double learning_rate_factor() const {
    return chargpt::learning_rate_factor(config_.train, progress_.step, decayed());
  }
  /// Before the first update of a process; later calls do nothing.
  void begin_updates();
  /// An update was made with the rate of the last look(), in so many seconds, and progress.step counts it.
  void follow_update(double seconds);
  /// After each eval.eval_interval steps; where it is 0, after each tenth of the run.
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
  double update_seconds_ = 0;  ///< of the last one
  // Of evaluations by shares: the update after which the last was due, its share and what the evaluation took.
  std::int64_t due_after_ = 0;
  float since_ = 0, cost_ = 0;
};

}  // namespace chargpt
