// `chargpt compare CONFIG…`: several configs, several seeds, one ranked table.
#include "compare/compare.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "cli/training/children.h"
#include "cli/training/comparison.h"
#include "cli/training/training.h"
#include "compare/comparison_report.h"
#include "compare/ladder.h"
#include "compare/planned_run.h"
#include "compare/variants.h"
#include "network/parameter_groups.h"
#include "report/format.h"
#include "report/log.h"
#include "run/run_folder.h"
#include "run/run_name.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::vector<std::string> presets;
  std::vector<std::string> varied;
  std::int64_t seeds = 1, jobs = 1;
  const Options* options = nullptr;  ///< knows which options were given
  std::string out;
  double target = 0;  ///< loss whose time is asked for; 0: none
  bool markdown = false;
  bool planned = false;  ///< this process is a child for one run; see children.h
  std::string replays;
};

/// A compare.json that no comparison wrote would be replaced at the end.
void refuse_foreign_results(const std::filesystem::path& out) {
  const std::filesystem::path path = out / "compare.json";
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return;
  const bool is_file = std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::regular;
  const auto json = nlohmann::json::parse(is_file ? read_file(path) : "", nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("results"))
    throw Error(ExitCode::busy, path.string(),
                " was not written by a comparison; choose another folder with --out DIR");
}

CompareOptions compare_options(const Arguments& arguments, const std::filesystem::path& out) {
  return {.seeds = arguments.seeds,
          .out = out,
          .target = arguments.target > 0 ? std::optional(arguments.target) : std::nullopt,
          .jobs = arguments.jobs,
          .stop = &stop_on_signals(arguments.output.quiet)};
}

ChildOrder order_of(const Arguments& arguments, std::size_t configs) {
  return {.verbose = arguments.output.verbose,
          .jobs = std::min(arguments.jobs, arguments.seeds * static_cast<std::int64_t>(configs)),
          .device = arguments.device,
          .engine = arguments.engine};
}

/// What a child does.
void train_planned_run(const Arguments& arguments) {
  const std::filesystem::path run = arguments.presets.front();
  PlannedTraining training{.run = run,
                           .jobs = arguments.jobs,
                           .replays = arguments.replays,
                           .trainer = trainer_options(arguments, run),
                           .reading = reading_progress(arguments.output),
                           .told = log_loading};
  const auto listen = [&](Trainer& trainer, std::optional<std::int64_t> resume_step) {
    add_listeners(trainer, run, arguments.output, resume_step);
  };
  if (!train_planned(training, listen)) throw Stopped{stopping_signal()};
}

CompareHooks hooks_for(const Arguments& arguments, const ChildOrder& order, std::size_t configs,
                       std::optional<Corpus>& corpus) {
  CompareHooks hooks;
  const auto watcher = std::make_shared<RunsWatcher>(arguments.output, configs);
  hooks.start = [order](const PlannedRun& run, const Corpus& text) { return start_child(order, run, text); };
  hooks.text = [&corpus](const Corpus& text) { corpus = text; };
  hooks.runs = watcher->hooks();
  hooks.after_run = [watcher](const PlannedRun& run, const SeedRun& result, bool reused) {
    const bool early = result.ended == Ending::patience;
    const std::string outcome = (result.failure ? result.failure->what() : "val " + format_loss(result.loss)) +
                                (early ? ", ended by patience after " + format_count(result.steps) + " steps" : "");
    watcher->tell(run_heading(run) + (reused ? ", trained before: " : ": ") + outcome);
  };
  hooks.notice = log_note;
  hooks.reading = reading_progress(arguments.output);
  return hooks;
}

/// An option that has no effect in some of the configs is a notice; in all of them, an Error usage.
void refuse_unused_by_all(const std::vector<ResolvedConfig>& configs) {
  std::vector<Error> refusals;
  for (const ResolvedConfig& config : configs) {
    check_model(config, /*refuses_unused=*/false);
    try {
      refuse_unused(config);
    } catch (const Error& error) {
      refusals.push_back(error);
    }
  }
  if (refusals.size() == configs.size() && !configs.empty()) throw refusals.front();
  for (const Error& error : refusals) log_note(error.what());
}

std::vector<ResolvedConfig> configs_of(const Arguments& arguments) {
  std::vector<VariedOption> varied;
  for (const std::string& given : arguments.varied) varied.push_back(parse_varied(given));
  std::vector<std::string> presets;
  for (const std::string& preset : arguments.presets) {
    if (preset == ladder_word)
      for (const Rung& rung : ladder) presets.emplace_back(rung.preset);
    else
      presets.push_back(preset);
  }
  std::vector<ResolvedConfig> configs = load_variants(presets, varied, arguments.config.overrides());
  refuse_unused_by_all(configs);
  for (ResolvedConfig& config : configs) {
    choose_text(config);
  }
  return configs;
}

/// Whether the words are runs. Error usage where only some of them are, and for what only trainings obey.
bool compares_runs(const Arguments& arguments) {
  const auto run = std::ranges::find_if(arguments.presets, names_run);
  if (run == arguments.presets.end()) return false;
  if (const auto config = std::ranges::find_if_not(arguments.presets, names_run); config != arguments.presets.end())
    throw Error(ExitCode::usage, printable(*run), " is a run, and ", printable(*config),
                " is none; compare runs with runs or configs with configs");
  const auto refuse = [](const std::string& option) {
    throw Error(ExitCode::usage, option, " is for trainings, and runs are compared as they are; leave it out");
  };
  for (const char* option : {"--vary", "--seeds", "--jobs", "--engine"})
    if (arguments.options->find(option).given()) refuse(option);
  for (const Override& setting : arguments.config.overrides()) refuse(setting.flag);
  return true;
}

/// Error usage for more than one.
ComparisonForm form_of(const Arguments& arguments) {
  if (arguments.output.json && arguments.markdown)
    throw Error(ExitCode::usage, "--json and --markdown are both given; give one");
  return arguments.output.json ? ComparisonForm::json
         : arguments.markdown  ? ComparisonForm::markdown
                               : ComparisonForm::table;
}

/// Nothing is written unless --out says where.
void compare_trained(const Arguments& arguments) {
  std::optional<ResultsFolder> folder;
  if (!arguments.out.empty()) {
    folder.emplace(arguments.out);
    refuse_foreign_results(folder->path());
  }
  Comparison comparison = compare_runs(arguments.presets, arguments);
  if (arguments.target > 0) find_target(comparison, arguments.target);
  if (folder) write_file_atomically(folder->path() / "compare.json", json_text(to_json(comparison)));
  print_comparison(comparison, form_of(arguments));
  if (folder) log_note("saved in ", folder->path().string());
}

/// Error after everything else is printed: a run that was killed has no result.
void report_killed(const Comparison& comparison, const ResultsFolder& folder) {
  std::size_t killed = 0, total = 0;
  ExitCode code = ExitCode::ok;
  for (const ConfigResult& result : comparison.results)
    for (const SeedRun& run : result.runs.seeds) {
      ++total;
      if (!run.failure || run.failure->code() == ExitCode::diverged) continue;
      ++killed;
      code = run.failure->code();
    }
  if (killed > 0)
    throw Error(code, killed, " of ", total,
                " runs ended without a result; to train them again, give the same command with --out ",
                shell_quoted(folder.path().native()));
}

void compare_configs(const Arguments& arguments) {
  const std::vector<ResolvedConfig> configs = configs_of(arguments);
  ResultsFolder folder(arguments.out);
  refuse_foreign_results(folder.path());
  const std::int64_t count = std::ssize(configs), seeds = arguments.seeds;
  log_note(format_count(count * seeds, "run"), " (", format_count(count, "config"), " × ", format_count(seeds, "seed"),
           ") in ", folder.path().string());
  std::optional<Corpus> corpus;
  const CompareOptions options = compare_options(arguments, folder.path());
  const ChildOrder order = order_of(arguments, configs.size());
  const Comparison comparison = compare(configs, options, hooks_for(arguments, order, configs.size(), corpus));
  if (!comparison.complete) {
    log_note("stopped; to continue, give the same command with --out ", shell_quoted(folder.path().native()));
    throw Stopped{stopping_signal()};
  }
  std::optional<LadderReport> report;  // of the ladder as such
  if (arguments.presets == std::vector{std::string(ladder_word)} && arguments.varied.empty())
    report = ladder_report(comparison, *corpus, configs.front().config.model.block_size);
  if (report) write_file_atomically(folder.path() / "compare.json", json_text(to_json(comparison, report)));
  print_comparison(comparison, form_of(arguments), report);
  log_note("saved in ", folder.path().string());
  report_killed(comparison, folder);
}

void run_compare(const Arguments& arguments) {
  if (arguments.planned) return train_planned_run(arguments);
  form_of(arguments);  // before anything is trained
  compares_runs(arguments) ? compare_trained(arguments) : compare_configs(arguments);
}

}  // namespace

void add_compare(Options& options) {
  Arguments& arguments = arguments_for(options, run_compare);
  const Option& config =
      options
          .add("CONFIG", arguments.presets,
               "presets or paths; ladder: every preset of the ladder; or runs, which are compared as they are")
          .stands_for(
              [](const std::string& given) { return given == ladder_word ? given : config_or_run_meant(given); })
          .required();
  arguments.options = &options;
  options
      .add("--vary", arguments.varied,
           "train each config with each of these values: --vary model.n_head=1,2,4; repeated, with every combination")
      .value_name("KEY=V,V");
  options.add("--seeds", arguments.seeds, "seeds per config: train.seed, train.seed + 1, …").range(1, 1000);
  options.add("--jobs", arguments.jobs, "runs to train at once, sharing the threads; their times are marked")
      .range(1, 4096);
  options
      .add("--target", arguments.target, "also print how many steps and seconds each config takes to reach this loss")
      .positive()
      .default_text("none");
  options.flag("--planned", arguments.planned, "train the planned run in this folder").hidden();
  options.add("--replays", arguments.replays, "of a planned run: the run whose length it repeats").hidden();
  options.flag("--markdown", arguments.markdown, "print the table as Markdown");
  options.add("--out", arguments.out, "folder of the runs and of compare.json (default runs/compare-<n>)");
  add_training_arguments(options, arguments);
  arguments.config.help_shows(options, config, "");
}

}  // namespace chargpt
