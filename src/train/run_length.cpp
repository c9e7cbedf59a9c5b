#include "train/run_length.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/heartbeat.h"
#include "base/line_of.h"

namespace chargpt {
namespace {

constexpr double most_steps = 1e12;
constexpr const char* steps_key = "train.max_iters";
constexpr const char* epochs_key = "train.max_epochs";
constexpr const char* evaluations_key = "eval.eval_iters";
const std::string lowered_by = "lowered by ";

constexpr double plan_seconds = 0.3;              ///< spent on measuring for a plan's estimate
constexpr double part_spent_on_measuring = 0.05;  ///< of max_seconds
constexpr double most_seconds_of_measuring = 3;
constexpr std::int64_t most_steps_of_measuring = 1'000'000;

}  // namespace

std::string origin_of(const ResolvedConfig& resolved, const std::string& option) {
  const auto found = resolved.origin.find(option);
  return found == resolved.origin.end() ? "default" : found->second;
}

std::int64_t tokens_per_step(const Config& config) {
  return config.train.batch_size * config.train.gradient_accumulation_steps * config.model.block_size;
}

std::vector<std::string> length_limits(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  const std::string origin = origin_of(resolved, steps_key);
  std::vector<std::string> limits;
  if (train.max_epochs > 0) limits.emplace_back(epochs_key);
  if (train.max_seconds > 0) limits.emplace_back(seconds_key);
  const bool settled = origin == epochs_key || origin == seconds_key;
  if (limits.empty() || (train.max_iters > 0 && !settled)) limits.insert(limits.begin(), steps_key);
  return limits;
}

bool keeps_length(const TrainConfig& now, const TrainConfig& earlier) {
  return now.max_iters == earlier.max_iters && now.max_epochs == earlier.max_epochs &&
         now.max_seconds == earlier.max_seconds;
}

bool needs_pace(const std::vector<std::string>& limits) {
  return std::find(limits.begin(), limits.end(), seconds_key) != limits.end();
}

bool limits_evaluations(const ResolvedConfig& resolved) {
  return origin_of(resolved, evaluations_key) == seconds_key;
}

void settle_steps(ResolvedConfig& resolved, const std::string& option, std::int64_t steps) {
  const bool lowers = length_limits(resolved).front() == steps_key;
  resolved.config.train.max_iters = steps;
  resolved.origin[steps_key] = (lowers ? lowered_by : "") + option;
}

std::string length_set_by(const ResolvedConfig& resolved) {
  const std::string origin = origin_of(resolved, steps_key);
  for (const char* option : {epochs_key, seconds_key})
    if (origin == option || origin == lowered_by + option) return option;
  return steps_key;
}

std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens) {
  const double steps = std::ceil(config.train.max_epochs * static_cast<double>(train_tokens) /
                                 static_cast<double>(tokens_per_step(config)));
  if (steps > most_steps)
    throw Error(ExitCode::usage, line_of("train.max_epochs = ", config.train.max_epochs, " is ", steps, " steps of ",
                                         tokens_per_step(config), " tokens, more than ", most_steps, "; lower it"));
  return static_cast<std::int64_t>(steps);
}

RunLength::RunLength(ResolvedConfig asked, std::int64_t train_tokens, ClosingWork closing, SettledLength known,
                     const RunClock& clock)
    : asked_(std::move(asked)),
      config_(asked_),
      limits_(length_limits(asked_)),
      train_tokens_(train_tokens),
      closing_(closing),
      known_(known),
      clock_(clock) {
  settle_what_needs_no_pace();
}

void RunLength::resume(const TrainConfig& earlier) {
  config_ = asked_;
  limits_ = keeps_length(asked_.config.train, earlier) ? std::vector<std::string>{} : length_limits(asked_);
  settle_what_needs_no_pace();
}

void RunLength::settle_what_needs_no_pace() {
  if (!needs_pace(limits_)) settle_limits({});
}

std::string RunLength::settle(PaceMeter& meter, std::int64_t step) {
  std::string notice;
  settle_limits([&] { return measured_steps(meter, step, notice); });
  return notice;
}

void RunLength::settle_limits(const std::function<std::int64_t()>& steps_of_max_seconds) {
  for (const std::string& limit : limits_) {
    if (limit == steps_key) continue;
    const std::int64_t most =
        limit == epochs_key ? steps_of_epochs(config_.config, train_tokens_) : steps_of_max_seconds();
    if (limit == limits_.front() || most < steps()) settle_steps(config_, limit, most);
  }
  limits_.clear();
}

/// Start-up, reading the text, measuring and earlier processes have used up part of max_seconds; time for the closing
/// work is set aside.
std::int64_t RunLength::measured_steps(PaceMeter& meter, std::int64_t step, std::string& notice) {
  const EvalConfig& eval = config_.config.eval;
  if (known_.max_iters > 0) {
    if (known_.eval_iters != eval.eval_iters) limit_evaluations(known_.eval_iters);
    return known_.max_iters;
  }
  if (limits_evaluations(config_)) limit_evaluations(0);  // by an earlier process
  measure(meter, step);
  const double left = clock_.agreed(seconds_left());
  if (left <= 0)
    notice = line_of("train.max_seconds = ", config_.config.train.max_seconds,
                     " leaves no time to train: ", clock_.seconds(), " s had passed before the first step");
  if (left <= 0 && step > 0) return step;
  return step + steps_of_seconds(planned_part * left, *pace_, eval.eval_interval);
}

/// From here on, evaluations that would take too much of the time score only a part of the windows.
void RunLength::measure(PaceMeter& meter, std::int64_t step) {
  const double part = part_spent_on_measuring * (config_.config.train.max_seconds - clock_.seconds());
  pace_ = meter.measure(step, std::min(most_seconds_of_measuring, part), most_steps_of_measuring);
  if (config_.config.eval.eval_iters > 0) return;
  const std::int64_t batches =
      evaluated_batches(clock_.agreed(seconds_left()), *pace_, meter.val_windows(), config_.config.train.batch_size);
  if (batches == 0) return;
  limit_evaluations(batches);
  meter.measure_evaluation(*pace_);
}

void RunLength::limit_evaluations(std::int64_t eval_iters) {
  config_.config.eval.eval_iters = eval_iters;
  config_.origin[evaluations_key] = seconds_key;
}

std::optional<double> RunLength::expected_seconds(PaceMeter& meter, std::int64_t step) {
  if (step >= steps()) return std::nullopt;
  try {
    if (!pace_) pace_ = meter.measure(step, plan_seconds, steps() - step);
    return seconds_of_steps(steps() - step, *pace_, config_.config.eval.eval_interval);
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

/// What is left of train.max_seconds, without the time set aside for the closing work.
double RunLength::seconds_left() const {
  const double most = config_.config.train.max_seconds;
  return most - clock_.seconds() - seconds_kept_for(closing_, pace(), most);
}

bool RunLength::has_time_for(double seconds, std::int64_t step) const {
  if (config_.config.train.max_seconds == 0 || step == 0) return true;
  return clock_.agreed(seconds <= seconds_left());
}

bool RunLength::has_time_for_step(std::int64_t step) const {
  const Pace expected = pace();
  return has_time_for(expected.seconds_per_step + expected.seconds_per_evaluation + expected.seconds_per_save, step);
}

bool RunLength::has_time_for_evaluation(std::int64_t step) const {
  const Pace expected = pace();
  return has_time_for(expected.seconds_per_evaluation + expected.seconds_per_save, step);
}

void RunLength::follow_step(double seconds) {
  if (pace_)
    pace_->seconds_per_step += (seconds - pace_->seconds_per_step) / 8;  // so that one slow step does not end a run
}

void RunLength::follow_evaluation(double seconds) {
  if (pace_) pace_->seconds_per_evaluation = seconds;
}

void RunLength::follow_save(double seconds) {
  if (pace_) pace_->seconds_per_save = seconds;
}

}  // namespace chargpt
