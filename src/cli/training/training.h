// Shared by `train` and `resume`: listeners, the run to its end, and its final figures and sample.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/training/process_group.h"
#include "report/progress.h"
#include "train/trainer.h"

namespace chargpt {

/// Whether a child process of `compare` shows its progress line; none: it is not such a child.
CHARGPT_ENUM(ChildLine, none, shown, hidden);

struct TrainingArguments {
  OutputArguments output;
  DeviceArguments device;
  ConfigArguments config;
  std::string engine = "auto";
  double rank_timeout = 60;  ///< s
  ChildLine child_line = ChildLine::none;

  bool is_child() const { return child_line != ChildLine::none; }
};

/// Adds --engine and the device, output and config options.
void add_training_arguments(Options& options, TrainingArguments& arguments);
/// Adds --rank-timeout, for training shared by several processes.
void add_rank_timeout(Options& options, TrainingArguments& arguments);

/// `group`: of training shared by several processes; null: this process alone.
TrainerOptions trainer_options(const TrainingArguments& arguments, const ProcessGroup* group = nullptr);

/// Writes config.json; adds writers of metrics.jsonl, TensorBoard events and samples/, and the progress on stderr.
/// `resume_step`: removes later steps from the files; nullopt: new run. Call finish() on the result before printing
/// more.
std::shared_ptr<ProgressPrinter> add_listeners(Trainer& trainer, const std::filesystem::path& run,
                                               const TrainingArguments& arguments,
                                               std::optional<std::int64_t> resume_step);

/// Trains to the end, logs why it ended, then prints loss, baselines and a sample of the best checkpoint. Throws
/// Stopped if a signal ended the run (saved, with the command that resumes it on stderr). A child of `compare` only
/// trains. `resume_step`: as in add_listeners(). Other ranks, which ignore `run`, also only train; rank 0 then
/// continues alone.
void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step, ProcessGroup& group);

}  // namespace chargpt
