// What `train` and `resume` share: listeners, the run to its end, the figures and the sample it ends with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "train/trainer.h"

namespace chargpt {

struct TrainingArguments {
  OutputArguments output;
  DeviceArguments device;
  ConfigArguments config;
  std::string engine = "auto";
};

/// --engine, device, output and config options.
void add_training_arguments(Options& options, TrainingArguments& arguments);

/// The text that the config names; its notices (a byte order mark removed, say) go to stderr.
Corpus load_training_corpus(const ResolvedConfig& config, const OutputArguments& output);

TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run);

/// Runs to the end, says why that was, then prints loss, baselines and a sample of the best checkpoint. Throws Stopped
/// if a signal ended the run (saved, with the line that resumes it on stderr). `resume_step`: metrics after it are
/// dropped first; none for a new run.
void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step);

}  // namespace chargpt
