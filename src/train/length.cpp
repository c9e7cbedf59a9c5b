#include "train/length.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr double most_iterations = 1e12;
constexpr const char* iterations_key = "train.max_iters";
constexpr const char* epochs_key = "train.max_epochs";
constexpr const char* seconds_key = "train.max_seconds";
const std::string lowered_by = "lowered by ";

std::string origin_of_iterations(const ResolvedConfig& resolved) {
  const auto found = resolved.origin.find(iterations_key);
  return found == resolved.origin.end() ? "" : found->second;
}

double seconds_per_step_with_evaluations(const Pace& pace, std::int64_t eval_interval) {
  return pace.seconds_per_step + pace.seconds_per_evaluation / static_cast<double>(eval_interval);
}

}  // namespace

std::int64_t tokens_per_step(const Config& config) {
  return config.train.batch_size * config.train.gradient_accumulation_steps * config.model.block_size;
}

std::vector<std::string> length_limits(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  const std::string origin = origin_of_iterations(resolved);
  std::vector<std::string> limits;
  if (train.max_epochs > 0) limits.emplace_back(epochs_key);
  if (train.max_seconds > 0) limits.emplace_back(seconds_key);
  const bool settled = origin == epochs_key || origin == seconds_key;
  if (limits.empty() || (train.max_iters > 0 && !settled)) limits.insert(limits.begin(), iterations_key);
  return limits;
}

bool keeps_length(const TrainConfig& now, const TrainConfig& earlier) {
  return now.max_iters == earlier.max_iters && now.max_epochs == earlier.max_epochs &&
         now.max_seconds == earlier.max_seconds;
}

bool needs_pace(const std::vector<std::string>& limits) {
  return std::find(limits.begin(), limits.end(), seconds_key) != limits.end();
}

void settle_iterations(ResolvedConfig& resolved, const std::string& option, std::int64_t iterations) {
  const bool lowers = length_limits(resolved).front() == iterations_key;
  resolved.config.train.max_iters = iterations;
  resolved.origin[iterations_key] = (lowers ? lowered_by : "") + option;
}

std::string length_set_by(const ResolvedConfig& resolved) {
  const std::string origin = origin_of_iterations(resolved);
  for (const char* option : {epochs_key, seconds_key})
    if (origin == option || origin == lowered_by + option) return option;
  return iterations_key;
}

std::int64_t iterations_of_epochs(const Config& config, std::int64_t train_tokens) {
  const double iterations = std::ceil(config.train.max_epochs * static_cast<double>(train_tokens) /
                                      static_cast<double>(tokens_per_step(config)));
  if (iterations > most_iterations) {
    std::ostringstream line;
    line << "train.max_epochs = " << config.train.max_epochs << " is " << iterations << " updates of "
         << tokens_per_step(config) << " tokens, more than " << most_iterations << "; lower it";
    throw Error(ExitCode::usage, line.str());
  }
  return static_cast<std::int64_t>(iterations);
}

std::int64_t iterations_of_seconds(double seconds, const Pace& pace, std::int64_t eval_interval) {
  const double left = seconds - 2 * pace.seconds_per_evaluation;
  const double iterations = std::floor(left / std::max(1e-9, seconds_per_step_with_evaluations(pace, eval_interval)));
  return static_cast<std::int64_t>(std::clamp(iterations, 1.0, most_iterations));
}

double seconds_of_iterations(std::int64_t iterations, const Pace& pace, std::int64_t eval_interval) {
  return static_cast<double>(iterations) * seconds_per_step_with_evaluations(pace, eval_interval) +
         2 * pace.seconds_per_evaluation;
}

}  // namespace chargpt
