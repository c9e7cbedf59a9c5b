// `chargpt train [CONFIG]`: a new run, from a config to figures and a sample.
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/training/chosen_config.h"
#include "cli/training/training.h"
#include "config/describe.h"
#include "evaluate/split_check.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/log.h"
#include "report/progress.h"
#include "report/report.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

constexpr const char* default_preset = "default";

struct Arguments : TrainingArguments {
  std::string preset, run, init_from;  ///< preset empty: not given
  bool overwrite = false, dry_run = false;
  double minutes = 0;  ///< 0: not given
};

/// Gives the trainer the weights of --init_from, and returns their checkpoint's path; empty without that option.
std::string begin_from(const std::string& run, Trainer& trainer) {
  if (run.empty()) return "";
  const Checkpoint start = loaded_checkpoint(run, "best");
  trainer.init_from(start);
  return start.path.string();
}

/// `split`: a notice on the text's split, or "".
void print_plan(const Arguments& arguments, Trainer& trainer, const std::string& split, const ProcessGroup& group) {
  PlanEvent plan = trainer.plan(/*measure=*/true);
  if (!split.empty()) plan.notices.push_back(split);
  group.ranks().finish();
  tell(group.notice(trainer.config().config));
  for (const std::string& notice : plan.notices) log_note(notice);
  Report report(to_json(plan));
  if (!plan.notices.empty()) report.json["notices"] = plan.notices;
  report.draw(plan_text(plan, terminal_columns(STDOUT_FILENO)));
  print_report(report, arguments.output);
}

/// Loads a preset with the given options, and with its passes unless these limit them.
ResolvedConfig config_of(const TimedPreset& preset, const Arguments& arguments) {
  std::vector<Override> settings = with_minutes(arguments.config.overrides(), arguments.minutes);
  const auto is_passes = [](const Override& given) { return find_option(given.key) == find_option("max_epochs"); };
  if (std::ranges::none_of(settings, is_passes)) settings.push_back({"train.max_epochs", preset.passes, "--minutes"});
  ResolvedConfig config = load_config(preset.name, settings);
  choose_text(config);
  check_model(config);
  return config;
}

/// Chooses the preset for --minutes without CONFIG: the best one for the steps that this machine completes in the time.
ResolvedConfig config_for_minutes(const Arguments& arguments, const Corpus& corpus, const ProcessGroup& group) {
  const auto steps_within = [&](const TimedPreset& preset) {
    const ResolvedConfig tried = config_of(preset, arguments);
    if (std::min(corpus.train().size(), corpus.val().size()) <= tried.config.model.block_size) return std::int64_t{0};
    const PlanEvent plan = Trainer(tried, corpus, trainer_options(arguments, &group)).plan(/*measure=*/false);
    return plan.length_set_by == "train.max_seconds" ? plan.max_iters : std::numeric_limits<std::int64_t>::max();
  };
  const TimedPreset& preset = chosen_preset(arguments.minutes, corpus.train().size(), steps_within);
  log_note("chose ", preset.name, ": the best preset for ", format_duration(60 * arguments.minutes),
           " of this machine and ", format_count(corpus.train().size()), " training tokens");
  return config_of(preset, arguments);
}

/// The given config; else that of the run of --init_from, whose model its weights fit.
std::string config_named(const Arguments& arguments) {
  if (!arguments.preset.empty()) return arguments.preset;
  if (arguments.init_from.empty()) return default_preset;
  const std::filesystem::path run = run_of(arguments.init_from);  // empty for a checkpoint outside a run
  return !run.empty() && is_file(run / "config.json") ? (run / "config.json").string() : default_preset;
}

void train(const Arguments& arguments, ProcessGroup& group) {
  if (group.first()) refuse_occupied(arguments.run, arguments.overwrite);
  const bool chooses = arguments.preset.empty() && arguments.init_from.empty() && arguments.minutes > 0;
  ResolvedConfig config =
      load_config(config_named(arguments), with_minutes(arguments.config.overrides(), arguments.minutes));
  check_model(config);
  choose_text(config);
  group.refuse_standard_input(config.config);
  Corpus corpus = named_text(config.config.data, std::nullopt);
  if (chooses) config = config_for_minutes(arguments, corpus, group);
  group.check(config.config, corpus);
  const std::string split = split_notice(corpus, check_split(corpus));
  if (!arguments.dry_run) tell(split);

  Trainer trainer(config, std::move(corpus), trainer_options(arguments, &group));
  const std::string start = begin_from(arguments.init_from, trainer);  // before its folder may be renamed
  if (arguments.dry_run) return print_plan(arguments, trainer, split, group);
  if (!group.first()) return train_to_end(trainer, {}, arguments, /*resume_step=*/std::nullopt, group);
  trainer.refuse_teachers_in(arguments.run);  // which would move away
  const OwnFolder run = new_run(arguments.run, config.config.name, arguments.overwrite, program_version());
  if (!start.empty()) keep_run_fact(run.path, "init_from", start);
  trainer.save_in(run.path);
  if (const std::filesystem::path old = run.old_run; !old.empty())
    log_note("the run that was in ", printable_path(run.path), " is now ", printable_path(old));
  tell(keep_text(run.path, trainer.corpus()));
  train_to_end(trainer, run.path, arguments, /*resume_step=*/std::nullopt, group);
}

void run_train(const Arguments& arguments) {
  ProcessGroup group(arguments);
  group.run([&] { train(arguments, group); });
}

}  // namespace

void add_train(Options& options) {
  Arguments& arguments = arguments_for(options, run_train);
  const Option& config = options
                             .add("CONFIG", arguments.preset,
                                  "preset, config file, or a run, for its config (chargpt configs lists presets)")
                             .default_text(default_preset)
                             .stands_for(config_or_run_meant);
  options.add("--run", arguments.run, "run folder (default runs/<config>-<n>)").value_name("DIR");
  options
      .add("--init_from", arguments.init_from,
           "start from this run's weights with a fresh optimizer (fine-tuning); default CONFIG: the run's own")
      .stands_for(run_meant);
  options.flag("--overwrite", arguments.overwrite,
               "start over: a run in DIR is renamed to DIR.old-N; nothing is deleted");
  options.flag("--dry-run", arguments.dry_run, "print the plan (sizes, epochs, memory, disk, time) and stop");
  options
      .add("--minutes", arguments.minutes,
           "train for this long, as --max-seconds; without CONFIG and --init-from, chooses a preset for the time and "
           "the text's size, and the passes before it would overfit (--max-epochs)")
      .positive(1'000'000);
  add_training_arguments(options, arguments);
  add_rank_timeout(options, arguments);
  arguments.config.help_shows(options, config, default_preset);
}

}  // namespace chargpt
