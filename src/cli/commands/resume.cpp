// `chargpt resume RUN`: continues a run exactly where it stopped.
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/training/chosen_config.h"
#include "cli/training/training.h"
#include "config/describe.h"
#include "report/log.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "run/kept_text.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "train/conditions.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string run;
  double minutes = 0;   ///< 0: not given
  std::string replays;  ///< for a child of compare: run whose time shares it replays
};

/// Returns the run folder. Throws Error usage for one checkpoint, with the way to resume from an earlier step.
std::filesystem::path run_to_resume(const std::string& given) {
  const std::filesystem::path run = run_of(given);
  if (run == without_final_slash(given)) return run;
  throw Error(ExitCode::usage, printable(given),
              " is one checkpoint, but resume continues the last one of a run. To resume from an earlier step: cp -r ",
              run.empty() ? "RUN" : shell_quoted(run.native()),
              " NEW, remove the later files of NEW/checkpoints, chargpt resume NEW");
}

/// Weights fit one model and one text: changing either needs a new run. The path of the text may change; its contents
/// are checked later.
void refuse_another_model(const Config& before, const Config& after) {
  for (const DifferingOption& option : differing_options({before, after}))
    if (option.key != "data.text" && (option.key.starts_with("model.") || option.key.starts_with("data.")))
      throw Error(ExitCode::usage, option.key, " cannot change from ", option.values[0], " to ", option.values[1],
                  " in a resumed run; train a new one");
}

/// The run's config, with the given options applied.
ResolvedConfig config_to_resume(const Checkpoint& from, const Arguments& arguments) {
  const ResolvedConfig& before = from.config;
  ResolvedConfig config = before;
  apply_overrides(config, with_minutes(arguments.config.overrides(), arguments.minutes, from.state.seconds));
  refuse_another_model(before.config, config.config);
  check_model(config);
  return config;
}

/// Notes on stderr that the checkpoint's options are used, if config.json was edited.
void note_edited_config(const Checkpoint& from, const std::filesystem::path& run) {
  std::vector<std::string> options;
  try {
    for (const DifferingOption& each : differing_options({from.config.config, read_config(run).config}))
      options.push_back("--set " + shell_quoted(each.key + "=" + each.values[1]));
  } catch (const Error& error) {
    return log_note("config.json is rewritten: ", error.what());
  }
  if (!options.empty())
    log_note("config.json differs from the checkpoint, whose options are used; to use those of config.json, add ",
             joined(options, " "));
}

/// Call before writing anything there, even a lock. A symbolic link as run.json means that the run was tampered with.
void refuse_what_is_no_run(const std::filesystem::path& run) {
  if (is_run(run) || std::filesystem::is_symlink(run / "run.json")) return refuse_replaced(run);
  throw Error(ExitCode::missing, run, " is not a run folder", runs_near(run));
}

/// Throws Error data if an imported run lacks the state of its optimizer, or its text.
void refuse_incomplete_import(const std::filesystem::path& run, const Checkpoint& checkpoint, bool given_text) {
  const bool has_moments = !checkpoint.optimizer.empty(),
             has_text = given_text || checkpoint.state.data != Fingerprint{};
  if (has_moments && has_text) return;
  const std::string name = run.string();
  const char* const missing =
      has_moments ? "its text; pass it with --text FILE, or" : "optimizer state, so it cannot be resumed;";
  throw Error(ExitCode::data, name, " was imported without ", missing,
              " start a new run from its weights: chargpt train ", shell_quoted(name + "/config.json"), " --init_from ",
              shell_quoted(name), checkpoint.state.data == Fingerprint{} ? " --text FILE" : "");
}

/// Throws Error usage if options were changed but nothing is left to train.
void refuse_changes_without_effect(const Checkpoint& from, const Config& config, const Trainer& trainer) {
  const std::string changes = joined(changed_training(from.config.config, config), ", ");
  if (changes.empty()) return;
  const std::optional<Ending> ending = trainer.reason_to_end();
  const bool had_ended = from.state.ended != Ending::unknown && from.state.ended != Ending::stopped;
  if (had_ended && ending && *ending != Ending::stopped)
    throw Error(ExitCode::usage, from.path.string(),
                " has finished its training, so changed options have no effect: ", changes, "; to continue, add ",
                *ending == Ending::seconds    ? std::string("--minutes M")
                : *ending == Ending::patience ? "--patience 0"
                                              : line_of("--max_iters N, above ", from.state.step));
  const std::int64_t steps = trainer.state().max_iters;
  if (steps < from.state.step && config.train.max_seconds == 0)
    throw Error(ExitCode::usage, from.path.string(), " has been trained for ", from.state.step, " steps, more than ",
                changes, " allows (", steps, "); set a longer length");
}

/// `run`: the run's folder, in which only rank 0 writes.
TrainerOptions options_in(const std::filesystem::path& run, const Arguments& arguments, const ProcessGroup& group) {
  TrainerOptions options = trainer_options(arguments, &group);
  if (group.first()) options.run = run;
  if (!arguments.replays.empty()) options.replayed_shares = load_checkpoint(arguments.replays, "last").state.shares;
  return options;
}

/// Starts a run of compare that has no checkpoint; its folder has config and text.
void begin(const Arguments& arguments, const std::filesystem::path& run, ProcessGroup& group) {
  const ResolvedConfig config = read_config(run);
  std::optional<Corpus> corpus = kept_text(run, config.config.data);
  if (!corpus) corpus = named_text(config.config.data, std::nullopt);
  remove_unfinished_files(run);
  Trainer trainer(config, *std::move(corpus), options_in(run, arguments, group));
  train_to_end(trainer, run, arguments, /*resume_step=*/std::nullopt, group);
}

void resume(const Arguments& arguments, ProcessGroup& group) {
  const std::filesystem::path run = run_to_resume(arguments.run);
  refuse_what_is_no_run(run);
  std::optional<Descriptor> lock;
  if (group.first()) lock = lock_run(run);
  if (arguments.is_child() && list_checkpoints(run).empty()) return begin(arguments, run, group);
  const Checkpoint checkpoint = loaded_checkpoint(run, "last", /*with_optimizer=*/true);
  note_edited_config(checkpoint, run);
  const ResolvedConfig config = config_to_resume(checkpoint, arguments);
  const bool given_text = config.given.contains("data.text");
  refuse_incomplete_import(run, checkpoint, given_text);
  Corpus corpus = text_of_run(checkpoint, config.config.data, run, given_text);
  log_notices(corpus);
  group.check(config.config, corpus);
  Trainer trainer(config, std::move(corpus), options_to_resume(options_in(run, arguments, group), checkpoint.state));
  trainer.resume_from(checkpoint);
  refuse_changes_without_effect(checkpoint, config.config, trainer);
  const std::int64_t step = checkpoint.state.step;
  if (group.first()) {
    remove_unfinished_files(run);
    if (!trainer.corpus().listing().names.empty()) tell(keep_text(run, trainer.corpus()));  // else it is the run's own
    remove_later_files(run, step);
  }
  train_to_end(trainer, run, arguments, step, group);
}

void run_resume(const Arguments& arguments) {
  ProcessGroup group(arguments);
  group.run([&] { resume(arguments, group); });
}

}  // namespace

void add_resume(Options& options) {
  Arguments& arguments = arguments_for(options, run_resume);
  const Option& run = add_run_argument(options, arguments.run);
  options.add("--minutes", arguments.minutes, "train for this many more minutes").positive(1'000'000);
  options.choice("--planned", arguments.child_line, "train a run of compare").hidden();
  options.add("--replays", arguments.replays, "of a run of compare: the run whose length it repeats").hidden();
  add_training_arguments(options, arguments);
  add_rank_timeout(options, arguments);
  options.find("--device").help("auto, cpu, cuda or cuda:N (auto: the run's, if it is here)");
  options.find("--threads").help("CPU threads; 0: as many as the run had, if the machine has them");
  options.find("--engine").help("auto, cpu or libtorch (auto: the run's)");
  arguments.config.help_shows(options, run, "");
}

}  // namespace chargpt
