#include "train/run_length.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

constexpr std::int64_t never = 1'000'000'000'000;  ///< step
constexpr const char* steps_key = "train.max_iters";
constexpr const char* epochs_key = "train.max_epochs";
constexpr const char* decay_key = "train.decay_steps";
constexpr const char* evaluations_key = "eval.eval_iters";

/// The origin of a value that `option` has put in the place of `before`: "train.max_seconds, instead of 20
/// (option --eval_iters)".
Origin instead_of(const std::string& option, std::int64_t before, const Origin& origin) {
  return {Origin::By::program, line_of(option, ", instead of ", before, " (", origin.stored(), ")")};
}

/// The value that was there before, whose origin `origin` becomes; 0 where it does not say.
std::int64_t take_back(Origin& origin) {
  std::int64_t before = 0;
  int begin = 0;
  std::sscanf(origin.where.c_str(), "%*[^,], instead of %13" SCNd64 " (%n", &before, &begin);
  origin =
      stored_origin(begin > 0 ? origin.where.substr(begin, origin.where.size() - 1 - begin) : "").value_or(Origin{});
  return begin > 0 ? std::max<std::int64_t>(0, before) : 0;
}

bool is_lowered(const Origin& origin, const std::string& option) {
  return origin.where.starts_with(option + ", instead of ");
}

}  // namespace

std::int64_t tokens_per_step(const Config& config) {
  return config.train.batch_size * config.train.gradient_accumulation_steps * config.model.block_size;
}

double training_speed(const Config& config, std::int64_t steps, double seconds) {
  return seconds > 0 ? static_cast<double>(steps * tokens_per_step(config)) / seconds : 0;
}

std::vector<std::string> length_limits(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  const Origin origin = origin_of(resolved, steps_key);
  std::vector<std::string> limits;
  if (train.max_epochs > 0) limits.emplace_back(epochs_key);
  if (train.max_seconds > 0) limits.emplace_back(seconds_key);
  const bool settled = origin.where == epochs_key || origin.where == seconds_key;
  if (limits.empty() || (train.max_iters > 0 && !settled)) limits.insert(limits.begin(), steps_key);
  return limits;
}

bool keeps_length(const TrainConfig& now, const TrainConfig& earlier) {
  return now.max_iters == earlier.max_iters && now.max_epochs == earlier.max_epochs &&
         now.max_seconds == earlier.max_seconds;
}

bool needs_pace(const std::vector<std::string>& limits) {
  return std::ranges::count(limits, seconds_key) > 0;
}

bool limits_evaluations(const ResolvedConfig& resolved) {
  return origin_of(resolved, evaluations_key).where.starts_with(seconds_key);
}

void lift_limit_of_evaluations(ResolvedConfig& resolved) {
  if (limits_evaluations(resolved)) resolved.config.eval.eval_iters = take_back(resolved.origin[evaluations_key]);
}

void lift_limit_of_steps(ResolvedConfig& resolved) {
  TrainConfig& train = resolved.config.train;
  Origin origin = origin_of(resolved, steps_key);
  if (!is_lowered(origin, epochs_key)) return;
  train.max_iters = std::min(never, take_back(origin));
  resolved.origin[steps_key] = train.max_iters > 0 ? origin : Origin{Origin::By::program, epochs_key};
}

void settle_steps(ResolvedConfig& resolved, const std::string& option, std::int64_t steps) {
  std::int64_t& now = resolved.config.train.max_iters;
  const bool lowers = length_limits(resolved).front() == steps_key;
  resolved.origin[steps_key] =
      lowers ? instead_of(option, now, origin_of(resolved, steps_key)) : Origin{Origin::By::program, option};
  now = steps;
}

std::string length_set_by(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  const Origin origin = origin_of(resolved, steps_key);
  if (train.max_seconds > 0 && !train.decay_steps.empty() &&
      (train.max_iters == 0 || train.decay_steps.back() < train.max_iters))
    return seconds_key;
  for (const char* option : {epochs_key, seconds_key})
    if (origin.where == option || is_lowered(origin, option)) return option;
  return steps_key;
}

std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens) {
  const double steps = std::ceil(config.train.max_epochs * static_cast<double>(train_tokens) /
                                 static_cast<double>(tokens_per_step(config)));
  if (steps > static_cast<double>(never))
    throw Error(ExitCode::usage, "train.max_epochs = ", config.train.max_epochs, " is ", steps, " steps of ",
                tokens_per_step(config), " tokens, more than ", static_cast<double>(never), "; lower it");
  return static_cast<std::int64_t>(steps);
}

RunLength::RunLength(ResolvedConfig asked, std::int64_t train_tokens, SettledLength known, const RunClock& clock)
    : asked_(std::move(asked)), config_(asked_), train_tokens_(train_tokens), known_(std::move(known)), clock_(clock) {
  settle();
}

void RunLength::resume(const TrainConfig& earlier) {
  TrainConfig& train = config_.config.train;
  config_ = asked_;
  if (!keeps_length(train, earlier)) {
    if (train.decay_steps == earlier.decay_steps) train.decay_steps.clear();
    return settle();
  }
  budget_.reset();
  if (train.max_seconds > 0) start_budget();
}

void RunLength::settle() {
  lift_limit_of_evaluations(config_);
  lift_limit_of_steps(config_);
  const std::vector<std::string> limits = length_limits(config_);
  budget_.reset();
  if (limits.front() == seconds_key) settle_steps(config_, seconds_key, 0);
  if (config_.config.train.max_epochs > 0) {
    const std::int64_t most = steps_of_epochs(config_.config, train_tokens_);
    if (limits.front() == epochs_key || most < config_.config.train.max_iters) settle_steps(config_, epochs_key, most);
  }
  if (!needs_pace(limits)) return;
  config_.config.train.decay_steps = {never, never};
  config_.origin[decay_key] = {Origin::By::program, seconds_key};
  start_budget();
}

void RunLength::start_budget() {
  if (known_.decay_steps.empty()) {
    const std::int64_t most = config_.config.train.max_iters;
    budget_.emplace(config_.config, most > 0 ? most : never);
    return;
  }
  config_.config.train.decay_steps = known_.decay_steps;
  if (known_.eval_iters != config_.config.eval.eval_iters) limit_evaluations(known_.eval_iters);
}

std::int64_t RunLength::steps() const {
  const TrainConfig& train = config_.config.train;
  return train.max_seconds > 0 && !train.decay_steps.empty() ? train.decay_steps.back() : train.max_iters;
}

void RunLength::expect(double seconds_per_step, const ClosingSeconds& closing, std::int64_t step) {
  if (!budget_) return;
  const auto at = [this](double measured) { return clock_.agreed(measured); };
  budget_->expect(at(seconds_per_step), {at(closing.evaluation), at(closing.sample), at(closing.save)},
                  at(clock_.seconds()));
  budget_->revise(config_.config.train.decay_steps, step);
}

void RunLength::follow_step(std::int64_t step) {
  if (!budget_) return;
  budget_->follow_step(clock_.agreed(clock_.seconds()));
  budget_->revise(config_.config.train.decay_steps, step);
}

void RunLength::follow(double ClosingSeconds::*part, double spent) {
  if (budget_) budget_->follow(part, clock_.agreed(spent), clock_.agreed(clock_.seconds()));
}

double RunLength::seconds_for_evaluation(bool last) const {
  return budget_ ? budget_->seconds_for_evaluation(last) : std::numeric_limits<double>::infinity();
}

void RunLength::limit_evaluations(std::int64_t eval_iters) {
  std::int64_t& now = config_.config.eval.eval_iters;
  if (!limits_evaluations(config_))
    config_.origin[evaluations_key] = instead_of(seconds_key, now, origin_of(config_, evaluations_key));
  now = eval_iters;
}

}  // namespace chargpt
