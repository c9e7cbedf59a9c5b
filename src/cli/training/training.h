// What `train` and `resume` share: listeners, the run to its end, the figures and the sample it ends with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/training/together.h"
#include "train/trainer.h"

namespace chargpt {

struct TrainingArguments {
  OutputArguments output;
  DeviceArguments device;
  ConfigArguments config;
  std::string engine = "auto";
  double rank_timeout = 60;  ///< s
};

/// --engine, --rank-timeout, device, output and config options.
void add_training_arguments(Options& options, TrainingArguments& arguments);

/// The text that the config names; its notices (a byte order mark removed, say) go to stderr.
Corpus load_training_corpus(const ResolvedConfig& config, const OutputArguments& output);

/// Of a training in one process; and of one that several share, whose `run` is rank 0's.
TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run);
TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run,
                               const Together& together);

/// Runs to the end, says why that was, then prints loss, baselines and a sample of the best checkpoint. Throws Stopped
/// if a signal ended the run (saved, with the line that resumes it on stderr). `resume_step`: metrics after it are
/// dropped first; none for a new run.
/// On the other ranks, whose `run` is empty, it runs to the end alone; after it, rank 0 is by itself.
void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step, Together& together);

}  // namespace chargpt
