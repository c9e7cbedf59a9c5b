// `compare RUN…`: runs that were trained before, scored on the text they share.
#pragma once

#include <string>
#include <vector>

#include "cli/training/training.h"
#include "experiment/ranking.h"

namespace chargpt {

/// Whether a word names a run, or one checkpoint of it, rather than a preset or a config's file.
bool names_run(const std::string& word);

/// The runs' best checkpoints, scored on the whole validation split without LibTorch where no device asks for it.
/// Errors: usage for a run given twice, and for runs whose text, units or split differ; else as load_run.
Comparison compare_runs(const std::vector<std::string>& runs, const TrainingArguments& arguments);

}  // namespace chargpt
