// `chargpt resume RUN`: continues a run exactly where it stopped, or from an earlier step to the same bits. With --run
// NEW, which changed options from an earlier step need, it begins a new run and only reads RUN.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/training/training.h"
#include "report/files/metrics.h"
#include "report/log.h"
#include "run/checkpoint_folder.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "train/conditions.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string run, checkpoint, new_run;
};

/// What a resume that begins a new run starts from.
struct Branch {
  Checkpoint from;
  ResolvedConfig config;
};

/// Weights fit one model and one text: changing either takes a new run. Where the text is does not matter; its contents
/// are checked later.
void refuse_another_model(const Config& before, const Config& after) {
  const auto old_json = to_json(before), new_json = to_json(after);
  for (const std::string section : {"model", "data"})
    for (const auto& [key, value] : old_json[section].items())
      if (key != "text" && value != new_json[section][key])
        throw Error(ExitCode::usage, section, ".", key, " cannot change from ", value.dump(), " to ",
                    new_json[section][key].dump(),
                    " in a resumed run; start a new one with `chargpt train --init_from`");
}

/// With the options that were given in place of the run's.
ResolvedConfig config_to_resume(const ResolvedConfig& before, const Arguments& arguments) {
  ResolvedConfig config = before;
  apply_overrides(config, arguments.config.overrides());
  refuse_another_model(before.config, config.config);
  check_model(config);
  if (config.config.train.teacher != before.config.train.teacher) log_loading(settle_teachers(config));
  return config;
}

/// Called before anything is written there, even a lock. A run whose checkpoints are all damaged is reported as such.
void refuse_what_is_no_run(const std::filesystem::path& run, const std::string& which) {
  if (!is_run(run) && !list_checkpoints(run).empty()) load_checkpoint(run, which, /*with_optimizer=*/true);
  if (const std::string near = runs_near(run); !is_run(run))
    throw Error(ExitCode::missing, printable_path(run), " is not a run folder",
                near.empty() ? "; to list those in runs/: chargpt runs" : near);
  refuse_replaced(run);
}

/// An imported run may have come without the state of its optimizer, or without its text.
void refuse_incomplete_import(const std::filesystem::path& run, const Checkpoint& checkpoint) {
  const bool has_moments = !checkpoint.optimizer->tensors().empty(), has_text = checkpoint.state.data != Fingerprint{};
  if (has_moments && has_text) return;
  const std::string name = run.string();
  const char* const missing =
      has_moments ? "its text; import it again with --text FILE, or" : "optimizer state, so it cannot be resumed;";
  throw Error(ExitCode::data, name, " was imported without ", missing,
              " start a new run from its weights: chargpt train ", shell_quoted(name + "/config.json"), " --init_from ",
              shell_quoted(name), has_text ? "" : " --text FILE");
}

/// Whether the run itself went on from `step` with these options, as its next checkpoint tells.
bool went_on_so(const std::filesystem::path& run, std::int64_t step, const Config& config) {
  for (const std::filesystem::path& folder : list_checkpoints(run)) {
    if (checkpoint_step(folder.filename().string()).value_or(0) <= step) continue;
    return changed_training(load_checkpoint(folder, "last").config.config, config).empty();
  }
  return false;
}

/// None if the run itself is continued: from its last checkpoint, or from an earlier one with nothing changed that
/// training depends on.
std::optional<Branch> branch_of(const Arguments& arguments, const std::filesystem::path& run,
                                const std::string& which) {
  if (which == "last" && arguments.new_run.empty()) return std::nullopt;
  std::vector<std::string> notices;
  Branch branch{.from = load_checkpoint(run, which, /*with_optimizer=*/true, &notices), .config = {}};
  refuse_gone(branch.from.config, run.string());
  refuse_incomplete_import(run, branch.from);
  branch.config = config_to_resume(branch.from.config, arguments);
  const auto changes = changed_training(branch.from.config.config, branch.config.config);
  const std::int64_t step = branch.from.state.step;
  if (arguments.new_run.empty()) {
    if (changes.empty() || step == last_step(run) || went_on_so(run, step, branch.config.config)) return std::nullopt;
    throw Error(ExitCode::usage, "resuming from step ", step, ", which is not the last, with other options (",
                joined(changes, ", "), ") begins a new run; give its folder: --run NEW");
  }
  log_loading(notices);
  return branch;
}

/// The metrics and samples up to `step`.
void copy_history(const std::filesystem::path& from, const std::filesystem::path& to, std::int64_t step) {
  if (std::filesystem::exists(from / "metrics.jsonl"))
    write_file_atomically(to / "metrics.jsonl", rows_up_to(read_regular_file(from / "metrics.jsonl"), step));
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(from / "samples", none)) {
    const auto at = checkpoint_step(entry.path().stem().string());
    if (!at || *at > step || !entry.is_regular_file()) continue;
    std::filesystem::create_directories(to / "samples");
    write_file_atomically(to / "samples" / entry.path().filename(), read_regular_file(entry.path()));
  }
}

/// The run's text, the same on every rank.
Corpus shared_text(const Arguments& arguments, const std::filesystem::path& run, const Checkpoint& from,
                   const Config& config, const ProcessGroup& group) {
  Corpus corpus = text_of_run(from, config.data, run, arguments.output);
  log_notices(corpus);
  group.check(config, corpus);
  return corpus;
}

/// Options were changed where nothing is left to train.
void refuse_changes_without_effect(const Checkpoint& from, const Config& config, const Trainer& trainer) {
  const std::string changes = joined(changed_training(from.config.config, config), ", ");
  if (changes.empty()) return;
  const std::optional<Ending> ending = trainer.reason_to_end();
  const Ending ended = from.state.ended;  // one that was stopped can still be brought to an end
  const bool had_ended = ended == Ending::finished || ended == Ending::patience || ended == Ending::seconds;
  if (had_ended && ending && *ending != Ending::stopped)
    throw Error(ExitCode::usage, from.path.string(),
                " is the end of its training, so changed options have no effect: ", changes,
                "; to continue, add --max_iters N, above ", from.state.step,
                *ending == Ending::patience ? ", and --patience 0" : "");
  const std::int64_t steps = trainer.state().max_iters;
  if (steps < from.state.step && config.train.max_seconds == 0)
    throw Error(ExitCode::usage, from.path.string(), " has been trained for ", from.state.step, " steps, more than ",
                changes, " allows (", steps, "); give a longer length");
}

/// At the checkpoint's step, to go on in `run`; a rank beside rank 0 has none.
std::unique_ptr<Trainer> trainer_at(const Checkpoint& from, const Arguments& arguments,
                                    const std::filesystem::path& run, const ResolvedConfig& config, Corpus corpus,
                                    const ProcessGroup& group) {
  const TrainerOptions options =
      options_to_resume(trainer_options(arguments, run, group, config.config, corpus), from.state);
  auto trainer = std::make_unique<Trainer>(config, std::move(corpus), options);
  trainer->resume_from(from);
  refuse_changes_without_effect(from, config.config, *trainer);
  return trainer;
}

/// RUN is only read, so its lock is not needed.
void train_branch(const Arguments& arguments, const std::filesystem::path& run, const Branch& branch,
                  ProcessGroup& group) {
  const auto& [from, config] = branch;
  const std::int64_t step = from.state.step;
  Corpus corpus = shared_text(arguments, run, from, config.config, group);
  if (!group.first())
    return train_to_end(*trainer_at(from, arguments, {}, config, std::move(corpus), group), {}, arguments, step, group);
  NewRun folder(arguments.new_run, config.config.name, /*overwrite=*/{});
  const auto trainer = trainer_at(from, arguments, folder.path(), config, std::move(corpus), group);
  folder.begin();
  const std::string changes = joined(changed_training(from.config.config, config.config), ", ");
  log_note("a new run, ", arguments.new_run, ", continues from step ", step, " of ", run.string(),
           ", which is not changed", changes.empty() ? "" : ": " + changes);
  copy_history(run, folder.path(), step);  // first: wherever there is a checkpoint, there are the rows up to it
  for (const std::string& line : copy_checkpoints(run, from, trainer->config(), folder.path())) log_warning(line);
  tell(keep_text(folder.path(), trainer->corpus(), trainer->config().config.data));
  folder.keep();
  train_to_end(*trainer, folder.path(), arguments, step, group);
}

void resume(const Arguments& arguments, ProcessGroup& group) {
  check_choice(arguments.run, arguments.checkpoint);
  const auto [run, which] = run_place(arguments.run, arguments.checkpoint.empty() ? "last" : arguments.checkpoint);
  refuse_what_is_no_run(run, which);
  if (const auto branch = branch_of(arguments, run, which)) return train_branch(arguments, run, *branch, group);
  std::optional<RunLock> lock;
  if (group.first()) lock.emplace(run);
  const Checkpoint checkpoint = loaded_checkpoint(run, which, /*with_optimizer=*/true);
  refuse_gone(checkpoint.config, run.string());
  refuse_incomplete_import(run, checkpoint);
  const ResolvedConfig config = config_to_resume(checkpoint.config, arguments);
  Corpus corpus = shared_text(arguments, run, checkpoint, config.config, group);
  const std::int64_t step = checkpoint.state.step;
  if (!group.first())
    return train_to_end(*trainer_at(checkpoint, arguments, {}, config, std::move(corpus), group), {}, arguments, step,
                        group);
  remove_unfinished_files(run);
  mark_run(run);
  const auto trainer = trainer_at(checkpoint, arguments, run, config, std::move(corpus), group);
  tell(keep_text(run, trainer->corpus(), trainer->config().config.data));
  if (const std::string problem = go_on_from(run, checkpoint.state); !problem.empty()) log_warning(problem);
  train_to_end(*trainer, run, arguments, step, group);
}

void run_resume(const Arguments& arguments) {
  ProcessGroup group(arguments);
  group.run([&] { resume(arguments, group); });
}

}  // namespace

void add_resume(Options& options) {
  Arguments& arguments = arguments_for(options, run_resume);
  const Option& run = add_run_argument(options, arguments.run);
  options
      .add("--checkpoint", arguments.checkpoint,
           "last, best or step-N; to change options at one before the last, give --run (not needed for train.keep, "
           "eval.log_interval, eval.sample_tokens, sample.* and where the text is)")
      .default_text("last");
  options.add("--run", arguments.new_run, "begin a new run in this folder instead of continuing RUN");
  add_training_arguments(options, arguments);
  add_rank_timeout(options, arguments);
  options.find("--device").help("auto (the run's, if available), cpu, cuda or cuda:N (GPU support is untested)");
  options.find("--threads").help("CPU threads; 0: as many as the run had, if the machine has them");
  options.find("--engine").help("auto (the run's), cpu or libtorch");
  arguments.config.help_shows(options, run, "", config_of_run);
}

}  // namespace chargpt
