// What a training ends with: figures, baselines and a sample of its best checkpoint.
#pragma once

#include <filesystem>

#include "cli/training/training.h"
#include "report/progress.h"

namespace chargpt {

/// Bytes at most that print_result() needs beside those of the run.
std::int64_t memory_of_result(const Config& config, const Corpus& corpus);

/// Figures of the best checkpoint on the validation split, on stdout and in RUN/figures.json. Throws Stopped if a
/// signal came meanwhile: the run itself is whole.
void print_result(const Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  ProgressPrinter& progress);

}  // namespace chargpt
