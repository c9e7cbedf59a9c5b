// What a training ends with: figures, baselines and a sample of its best checkpoint, within train.max_seconds.
#pragma once

#include <filesystem>

#include "report/progress.h"
#include "training/training.h"

namespace chargpt {

/// What print_result() will do, so that a run of train.max_seconds leaves time for it; baselines are included only if
/// they take no more than a tenth of those seconds, estimated from a piece of the text.
ClosingWork work_after_a_run(const Config& config, const Corpus& corpus);

/// Figures of the best checkpoint on the validation split, on stdout and in RUN/figures.json. What does not fit into
/// train.max_seconds is left to `chargpt eval`, with a note. Throws Stopped if a signal came meanwhile: the run itself
/// is whole.
void print_result(const Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  ProgressPrinter& progress);

}  // namespace chargpt
