#include "cli/training/training.h"

#include "base/error.h"
#include "base/quote.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "cli/signals.h"
#include "cli/training/listeners.h"
#include "cli/training/result.h"
#include "cli/version.h"
#include "engine/device.h"
#include "inference/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "report/progress.h"

namespace chargpt {

namespace {

/// A run with more threads than this machine has does not get them unless asked for.
std::string resume_command(const RunState& state, const std::filesystem::path& run) {
  return "chargpt resume " + shell_quoted(run.native()) +
         (state.threads > usable_processors() ? " --threads " + std::to_string(state.threads) : "");
}

}  // namespace

void add_training_arguments(Options& options, TrainingArguments& arguments) {
  arguments.config.add(options, {"data", "model", "train", "eval", "sample"});
  options.add("--engine", arguments.engine, "auto, cpu or libtorch").group("Machine");
  options
      .add("--rank-timeout", arguments.rank_timeout,
           "of several processes (mpirun, srun): seconds to wait for one that hangs before all end")
      .positive()
      .group("Machine");
  add_device_arguments(options, arguments.device);
  add_output_arguments(options, arguments.output);
}

Corpus load_training_corpus(const ResolvedConfig& config, const OutputArguments& output) {
  Corpus corpus = load_corpus(config.config.data, std::nullopt, reading_progress(output));
  log_notices(corpus);
  return corpus;
}

TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run) {
  TrainerOptions options;
  options.run = run;
  options.device = arguments.device.device;
  options.engine = arguments.engine;
  options.threads = arguments.device.threads;
  options.stop = &stop_on_signals(arguments.output.quiet);
  options.process_started = process_start_seconds();
  options.program_version = program_version();
  return options;
}

TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run,
                               const Together& together) {
  TrainerOptions options = trainer_options(arguments, run);
  options.ranks = &together.ranks();
  options.threads = together.threads();
  return options;
}

void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step, Together& together) {
  if (!together.first()) {
    const Ending ending = trainer.run();
    together.ranks().finish();
    if (ending == Ending::stopped) throw Stopped{stopping_signal()};
    return;
  }
  together.trains(run);
  if (const std::string line = together.notice(trainer.config().config); !line.empty()) log_note(line);
  const auto progress = add_listeners(trainer, run, arguments.output, resume_step);
  const Ending ending = trainer.run();
  progress->finish();
  if (!together.alone())
    log_note("summing, and waiting for each other, took the ranks " + format_duration(together.ranks().seconds()) +
             " of " + format_duration(trainer.state().training_seconds) + " of training");
  together.ranks().finish();
  if (ending == Ending::stopped) {
    log_note("stopped at step " + std::to_string(trainer.state().step) + " and saved; to go on:");
    log_note("  " + resume_command(trainer.state(), run));
    throw Stopped{stopping_signal()};
  }
  log_note(why_ended(trainer.ended(), run.string()));
  print_result(trainer, run, arguments, *progress);
}

}  // namespace chargpt
