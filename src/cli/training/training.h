// What `train` and `resume` share: listeners, the run to its end, the figures and the sample it ends with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/training/process_group.h"
#include "report/progress.h"
#include "train/trainer.h"

namespace chargpt {

/// Whether a child of compare shows its repainted line; none: it is not a child of compare.
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

/// --engine, device, output and config options.
void add_training_arguments(Options& options, TrainingArguments& arguments);
/// --rank-timeout, of a command whose training several processes may share.
void add_rank_timeout(Options& options, TrainingArguments& arguments);

TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run);
/// The same of a training that several processes may share, whose `run` is rank 0's.
TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run,
                               const ProcessGroup& group);

/// config.json, metrics.jsonl, TensorBoard events, samples/ and the progress on stderr. `resume_step`: what the files
/// say about later steps is dropped; none for a new run. Call finish() on the result before anything else is printed.
std::shared_ptr<ProgressPrinter> add_listeners(Trainer& trainer, const std::filesystem::path& run,
                                               const TrainingArguments& arguments,
                                               std::optional<std::int64_t> resume_step);

/// Runs to the end, says why that was, then prints loss, baselines and a sample of the best checkpoint. Throws Stopped
/// if a signal ended the run (saved, with the command that resumes it on stderr). A child of compare only runs to the
/// end. `resume_step`: as add_listeners.
/// On the other ranks, whose `run` is empty, it runs to the end alone; after it, rank 0 is by itself.
void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step, ProcessGroup& group);

}  // namespace chargpt
