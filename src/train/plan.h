// What is said before the first step: how large the run is, and what a user should know about its options. Knows no
// loss and measures nothing.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/load.h"
#include "learner/learner.h"
#include "report/events.h"
#include "text/corpus.h"

namespace chargpt {

/// Options of a schedule that can hardly be intended: warm-up longer than the run, decay that ends after it.
std::vector<std::string> schedule_warnings(const TrainConfig& train);

/// Sizes, epochs, disk, and a notice wherever an option and the machine disagree. `config` with its length
/// settled.
PlanEvent plan_of(const ResolvedConfig& config, const Corpus& corpus, const Learner& learner, const RunState& state);

}  // namespace chargpt
