// Options that were given on the command line and change nothing in this run, or less than one would think: a run that
// obeys silently in part is not the one that was asked for. Knows no step.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "parameters/arena.h"

namespace chargpt {

/// One line for each option of a flag or --set that the resolved config makes meaningless: "model.rope_base = 5 changes
/// nothing: model.position is learned".
std::vector<std::string> idle_options(const ResolvedConfig& resolved);

/// One line for each of train.learning_rate and train.weight_decay that was set over train.groups (by a flag, or by a
/// file over a preset's), which have their own: of how many parameters it is, and whose it is not.
std::vector<std::string> overridden_by_groups(const ResolvedConfig& resolved, const ParameterArena& arena);

}  // namespace chargpt
