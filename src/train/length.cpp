#include "train/length.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr double most_iterations = 1e12;

double seconds_per_step_with_evaluations(const Pace& pace, std::int64_t eval_interval) {
  return pace.seconds_per_step + pace.seconds_per_evaluation / static_cast<double>(eval_interval);
}

}  // namespace

std::int64_t tokens_per_step(const Config& config) {
  return config.train.batch_size * config.train.gradient_accumulation_steps * config.model.block_size;
}

LengthRule length_rule(const TrainConfig& now, const TrainConfig* earlier) {
  if (earlier && now.max_seconds == earlier->max_seconds && now.max_epochs == earlier->max_epochs)
    return LengthRule::iterations;
  if (now.max_seconds > 0) return now.max_epochs > 0 ? LengthRule::shorter_of_both : LengthRule::seconds;
  return now.max_epochs > 0 ? LengthRule::epochs : LengthRule::iterations;
}

bool needs_pace(LengthRule rule) {
  return rule == LengthRule::seconds || rule == LengthRule::shorter_of_both;
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
