// How long a run is: the shortest of max_iters, max_epochs and max_seconds becomes one number of updates. Pure
// functions. Knows no model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/load.h"

namespace chargpt {

/// Tokens that one update sees: batch_size * gradient_accumulation_steps * block_size.
std::int64_t tokens_per_step(const Config& config);

/// The options that limit a run's length: "train.max_iters", "train.max_epochs", "train.max_seconds", those that are
/// set. Together they serve a short text and a long one: epochs end the first before it is learnt by heart, updates or
/// seconds the second. A max_iters that an earlier run settled is none.
std::vector<std::string> length_limits(const ResolvedConfig& resolved);

/// Whether the run that goes on from a checkpoint of options `earlier` keeps its settled max_iters: no limit was
/// changed.
bool keeps_length(const TrainConfig& now, const TrainConfig& earlier);

/// Only a measurement tells the number of updates.
bool needs_pace(const std::vector<std::string>& limits);

/// Writes the updates that `option` (not max_iters) comes to into max_iters, with an origin that tells so and whether a
/// longer max_iters was asked for.
void settle_iterations(ResolvedConfig& resolved, const std::string& option, std::int64_t iterations);

/// The option that max_iters comes from, now or in the process that began the run.
std::string length_set_by(const ResolvedConfig& resolved);

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
