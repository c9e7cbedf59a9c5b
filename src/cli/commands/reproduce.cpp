// `chargpt reproduce RUN`: trains a run again from its config and text, in another folder, and checks whether losses
// and weights are the same. RUN is untrusted input and is only read.
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/training/training.h"
#include "compare/same_training.h"
#include "report/log.h"
#include "report/report.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "train/conditions.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string run, again;
  Strings text;
};

/// Loads the last checkpoint and verifies all others. Throws Error missing if there are none, data naming a damaged
/// file.
Checkpoint last_of_whole_run(const fs::path& run) {
  for (const fs::path& checkpoint : list_checkpoints(run)) read_checkpoint(checkpoint, /*with_optimizer=*/true);
  Checkpoint last = loaded_checkpoint(run, "last", /*with_optimizer=*/true);
  if (last.state.data == Fingerprint{})
    throw Error(ExitCode::data, run, " was imported without its text, so its training cannot be repeated");
  return last;
}

/// The folder of the repetition. Unless it is kept, the destructor removes it, and runs/ if that is then empty.
struct Repetition {
  fs::path folder;
  bool kept;
  ~Repetition() {
    std::error_code ignored;
    if (kept) return;
    fs::remove_all(folder, ignored);
    fs::remove(folder_of(folder), ignored);
  }
};

Report report_of(const fs::path& run, const SameTraining& same, const fs::path& kept,
                 const std::vector<std::string>& conditions) {
  Report report(to_json(same));
  report.json["run"] = run.string();
  report.json["conditions"] = conditions;
  report.json["again"] = kept.empty() ? Json() : Json(kept.string());
  report.say(printable_path(run) + ": " + to_text(same) + "\n");
  report.is_yes = same.verdict == Verdict::bits;
  if (same.verdict == Verdict::differs)
    log_note(
        "a run that began from other weights (--init_from), or was resumed with other options, cannot be repeated");
  if (!kept.empty()) log_note("trained again in ", printable_path(kept));
  return report;
}

Report reproduce(const Arguments& arguments) {
  const fs::path run = run_of(arguments.run);
  if (run != without_final_slash(arguments.run))
    throw Error(ExitCode::usage, printable(arguments.run),
                " is one checkpoint, but reproduce repeats a whole training; pass the run's folder");
  const Checkpoint last = last_of_whole_run(run);
  DataConfig data = last.config.config.data;
  if (!arguments.text.empty()) data.text = arguments.text;
  Corpus corpus = text_of_run(last, data, run, /*named=*/!arguments.text.empty());

  refuse_occupied(arguments.again, /*overwrite=*/false);
  TrainerOptions options = options_to_resume(trainer_options(arguments), last.state);
  check_losses(run, last.state.step);  // before hours of training
  options.last_step = last.state.step;
  options.replayed_shares = last.state.shares;
  Trainer trainer(last.config, std::move(corpus), options);
  const std::vector<std::string> conditions = differing_conditions(last.state, trainer.state());
  const OwnFolder again =
      new_run(arguments.again, last.config.config.name + "-again", /*overwrite=*/false, program_version());
  trainer.save_in(again.path);
  Repetition repetition{.folder = again.path, .kept = !arguments.again.empty()};
  for (const std::string& line : conditions) log_note(line);
  tell(keep_text(again.path, trainer.corpus()));
  const auto progress = add_listeners(trainer, again.path, arguments, /*resume_step=*/std::nullopt);
  const Ending ending = trainer.run();
  progress->finish();
  if (ending == Ending::stopped && trainer.state().step < last.state.step) {
    log_note("stopped: no verdict yet");
    throw Stopped{stopping_signal()};
  }
  const SameTraining same = compare_trainings(run, again.path, last.state.step);
  repetition.kept = repetition.kept || same.verdict != Verdict::bits;
  return report_of(run, same, repetition.kept ? again.path : fs::path(), conditions);
}

}  // namespace

void add_reproduce(Options& options) {
  Arguments& arguments = arguments_for(options, reproduce);
  add_run_argument(options, arguments.run);
  options.add("--text", arguments.text, "its text, if it has been moved").takes_words().value_name("TEXT");
  options.add("--run", arguments.again, "the new run (default runs/<name>-again-<n>, removed if every bit is the same)")
      .value_name("DIR");
  options.add("--engine", arguments.engine, "auto, cpu or libtorch (auto: the run's)").group("Machine");
  add_device_arguments(options, arguments.device);
}

}  // namespace chargpt
