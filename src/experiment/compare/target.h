// `--target`: when each run of a comparison first had a loss at or under a target, by its own metrics. Trains nothing.
#pragma once

#include "experiment/compare/ranking.h"
#include "report/table.h"

namespace chargpt {

/// Sets `target`, and `reached` of every run whose metrics.jsonl has such an evaluation. A loss is known only where it
/// is evaluated: a finer eval.eval_interval finds it sooner. Errors: usage for evaluations that are estimates, data for
/// a line that is no JSON object; io, missing for the file.
void find_target(Comparison& comparison, double target);

/// By rank: config, seeds that reached it, and the mean of updates and seconds where all did; the mean of those that
/// did would flatter. Times of runs that shared the machine carry a *.
Table target_table(const Comparison& comparison);

}  // namespace chargpt
