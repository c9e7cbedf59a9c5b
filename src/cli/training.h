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
void add_training_arguments(CLI::App& app, TrainingArguments& arguments);

/// Error usage, with the file and line that set it, where options of the model do not fit together.
void check_model(const ResolvedConfig& config);

/// Notices of the text (a byte order mark removed, say) go to stderr.
Corpus load_training_corpus(const ResolvedConfig& config, const std::filesystem::path& cache_folder,
                            const std::optional<Vocabulary>& vocabulary = std::nullopt);

TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run);

/// Runs to the end, then prints loss, baselines and a sample of the best checkpoint. Throws Stopped where a signal
/// ended the run (saved, with the line that resumes it on stderr). `resume_step`: metrics after it are dropped first;
/// none for a new run.
void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step);

}  // namespace chargpt
