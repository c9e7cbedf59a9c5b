// `--target`: when each run of a comparison first had a loss at or under a target, by its own metrics. Trains nothing.
#pragma once

#include <optional>
#include <string>

#include "experiment/ranking.h"
#include "report/table.h"

namespace chargpt {

/// Sets `target`, and `reached` of every run whose metrics.jsonl has such an evaluation. A loss is known only where it
/// is evaluated: a finer eval.eval_interval finds it sooner. Errors: usage for evaluations that are estimates, data for
/// malformed lines.
void find_target(Comparison& comparison, double target);

/// The first evaluation of a run at or under the target. Errors as above.
std::optional<ReachedTarget> reached_by(const SeedRun& run, double target);

/// For runs that ended at the target: in order of the mean steps to it, those that did not all reach it last, without
/// ranks.
void rank_by_target(Comparison& comparison);

/// "n_head=2 reached 2.0000 after 120 steps, n_head=1 after 300"; empty where no config reached it with all seeds.
std::string target_verdict(const Comparison& comparison);

/// By rank: config, seeds that reached it, and the mean of steps and seconds where all did; the mean of those that
/// did would flatter. Times of runs that shared the machine carry a *.
Table target_table(const Comparison& comparison);

}  // namespace chargpt
