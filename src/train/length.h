// How long a run is: max_seconds, max_epochs, the shorter of both, or max_iters become one number of updates. Pure
// functions. Knows no model.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace chargpt {

/// Tokens that one update sees: batch_size * gradient_accumulation_steps * block_size.
std::int64_t tokens_per_step(const Config& config);

/// What settles train.max_iters.
enum class LengthRule { iterations, epochs, seconds, shorter_of_both };

/// What is set of max_seconds and max_epochs decides, else max_iters. Both together serve a short text and a long one:
/// epochs end the first before it overfits, seconds the second. `earlier`: the options of the checkpoint that is gone
/// on from (null: a new run), whose max_iters is already settled: then they count only where one of them was changed
/// since.
LengthRule length_rule(const TrainConfig& now, const TrainConfig* earlier);

/// Only a measurement tells the number of updates.
bool needs_pace(LengthRule rule);

/// Updates that see `max_epochs` times the train split, rounded up. Error usage above 1e12.
std::int64_t iterations_of_epochs(const Config& config, std::int64_t train_tokens);

/// How fast a run goes on this machine.
struct Pace {
  double seconds_per_step = 0, seconds_per_evaluation = 0;
};

/// Updates that fit into `seconds`, with an evaluation every eval_interval, one before and one after; at least 1.
std::int64_t iterations_of_seconds(double seconds, const Pace& pace, std::int64_t eval_interval);

/// The inverse: seconds of `iterations` more updates with their evaluations.
double seconds_of_iterations(std::int64_t iterations, const Pace& pace, std::int64_t eval_interval);

}  // namespace chargpt
