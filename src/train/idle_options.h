// Options that have no effect in this run, or less than one would expect, or can hardly be intended: a run that
// silently ignores some of them is not the one that was asked for. Knows no step.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "parameters/arena.h"

namespace chargpt {

/// One line for each option of a flag or --set that the resolved config makes meaningless: "model.rope_base = 5 has no
/// effect: model.position is learned".
std::vector<std::string> idle_options(const ResolvedConfig& resolved);

/// One line for each of train.learning_rate and train.weight_decay that was set over train.groups (by a flag, or by a
/// file over a preset's), which have their own: how many parameters it applies to, and which groups it does not.
std::vector<std::string> overridden_by_groups(const ResolvedConfig& resolved, const ParameterArena& arena);

/// Options of a schedule that can hardly be intended: warm-up longer than the run, decay that ends after it, a rate
/// that rises.
std::vector<std::string> schedule_warnings(const TrainConfig& train);

}  // namespace chargpt
