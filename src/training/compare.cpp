// `chargpt compare CONFIG…`: several configs, several seeds, one ranked table.
#include "experiment/compare/compare.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "cli/signals.h"
#include "experiment/compare/common_text.h"
#include "experiment/compare/comparison_report.h"
#include "experiment/compare/ladder.h"
#include "experiment/compare/target.h"
#include "experiment/compare/variants.h"
#include "experiment/held_out.h"
#include "inference/parameter_groups.h"
#include "ranks/launch.h"
#include "report/format.h"
#include "report/json_text.h"
#include "report/log.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "training/commands.h"
#include "training/compare_output.h"
#include "training/compare_runs.h"
#include "training/listeners.h"
#include "training/together.h"
#include "training/training.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::vector<std::string> presets;
  std::vector<std::string> varied;
  std::int64_t seeds = 1, jobs = 1;
  std::function<bool(const std::string& option)> given;  ///< on the command line
  std::int64_t only = 0;                                 ///< the one run that this process is for, from 1; 0: all
  std::string score_on = "val", out;
  double target = 0;  ///< loss whose time is asked for; 0: none
  bool markdown = false, page = false;
};

/// The command line of a process for run `number` alone.
std::vector<std::string> job_command(const Arguments& arguments, const std::filesystem::path& out,
                                     std::int64_t number) {
  std::vector<std::string> words{"compare"};
  words.insert(words.end(), arguments.presets.begin(), arguments.presets.end());
  const std::vector<std::string> settings = as_arguments(arguments.config.overrides());
  words.insert(words.end(), settings.begin(), settings.end());
  const auto add = [&words](const std::string& option, const std::string& value) {
    words.push_back(option + "=" + value);
  };
  for (const std::string& varied : arguments.varied) add("--vary", varied);
  add("--seeds", std::to_string(arguments.seeds));
  add("--score-on", arguments.score_on);
  add("--jobs", std::to_string(arguments.jobs));
  add("--only", std::to_string(number));
  add("--out", out.string());
  add("--device", arguments.device.device);
  add("--threads", std::to_string(arguments.device.threads));
  add("--engine", arguments.engine);
  words.emplace_back("--quiet");
  return own_command(words);
}

/// A compare.json that no comparison wrote would be replaced at the end.
void refuse_foreign_results(const std::filesystem::path& out) {
  const std::filesystem::path path = out / "compare.json";
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return;
  const bool is_file = std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::regular;
  const auto json = nlohmann::json::parse(is_file ? read_file(path) : "", nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("results"))
    throw Error(ExitCode::busy,
                path.string() + " was not written by a comparison; choose another folder with --out DIR");
}

CompareOptions compare_options(const Arguments& arguments, const std::filesystem::path& out) {
  CompareOptions options;
  options.seeds = arguments.seeds;
  options.jobs = arguments.jobs;
  if (arguments.target > 0) options.target = arguments.target;
  options.within_train_split = arguments.score_on == "train";
  options.out = out;
  options.trainer = trainer_options(arguments, {});
  const auto launched = launch();
  options.shared = launched.has_value();
  if (launched && options.trainer.threads == 0) options.trainer.threads = threads_beside(*launched);
  return options;
}

/// "run 3 of 8: a n_head=2, seed 1", and what is left of it in a narrow terminal.
std::vector<std::string> headings_of(const ComparedRun& run) {
  const std::string number = "run " + std::to_string(run.number) + " of " + std::to_string(run.total),
                    seed = ", seed " + std::to_string(run.seed);
  const std::string variant = run.config.substr(run.config.find(' ') + 1);
  return {number + ": " + run.config + seed, number + ": " + variant + seed, number + seed};
}

/// "4 runs (2 configs × 2 seeds)"
std::string runs_text(std::size_t configs, std::int64_t seeds) {
  const auto counted = [](std::int64_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  const auto all = static_cast<std::int64_t>(configs);
  return counted(all * seeds, "run") + " (" + counted(all, "config") + " × " + counted(seeds, "seed") + ")";
}

/// The plan of the first run that is trained, for all of them.
class PlanOnce : public Listener {
 public:
  using Listener::on;
  explicit PlanOnce(std::size_t configs) : configs_(configs) {}
  void on(const PlanEvent& event) override {
    if (std::exchange(shown_, true)) return;
    PlanEvent plan = event;
    plan.run.clear();
    if (configs_ > 1) plan.config += ", one of " + std::to_string(configs_);
    const std::string text = plan_text(plan, terminal_columns(STDERR_FILENO));
    std::fwrite(text.data(), 1, text.size(), stderr);
  }

 private:
  std::size_t configs_;
  bool shown_ = false;
};

CompareHooks hooks_for(const Arguments& arguments, std::size_t configs, std::shared_ptr<ProgressPrinter>& progress) {
  CompareHooks hooks;
  const OutputArguments& output = arguments.output;
  const auto plan = std::make_shared<PlanOnce>(configs);
  hooks.before_run = [&, plan](const ComparedRun& run, Trainer& trainer) {
    tell(keep_text(run.run, trainer.corpus()));
    if (!output.quiet && !output.verbose) trainer.add_listener(plan);
    const std::vector<std::string> headings = headings_of(run);
    if (output.verbose) log_note(headings.front());
    progress = add_listeners(trainer, run.run, output, run.resume_step,
                             output.verbose ? std::vector<std::string>() : headings);
  };
  hooks.started = [](const ComparedRun& run) { log_detail(headings_of(run).front()); };
  hooks.after_run = [&](const ComparedRun& run, const SeedRun& result, bool reused) {
    if (progress) progress->finish();
    const bool early = result.ended == Ending::patience || result.ended == Ending::seconds;
    const std::string outcome = (result.failure.empty() ? "val " + format_loss(result.loss) : result.failure) +
                                (early ? ", ended by " + std::string(enum_name(result.ended)) + " after " +
                                             format_count(result.steps) + " steps"
                                       : "");
    const std::string line = headings_of(run).front() + (reused ? ", trained before: " : ": ") + outcome;
    repaints(STDERR_FILENO) ? log_detail(line) : log_note(line);
  };
  hooks.notice = [](const std::string& line) { log_note(line); };
  hooks.reading = reading_progress(output);
  return hooks;
}

/// An option that one of the configs obeys may be idle in the others: a line says so. Error usage where all would
/// refuse.
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
      for (const Rung& rung : ladder()) presets.emplace_back(rung.preset);
    else
      presets.push_back(preset);
  }
  std::vector<ResolvedConfig> configs = load_variants(presets, varied, arguments.config.overrides());
  refuse_unused_by_all(configs);
  for (ResolvedConfig& config : configs) choose_text(config);
  return configs;
}

/// Whether the words are runs. Error usage where only some of them are, and for what only trainings obey.
bool compares_runs(const Arguments& arguments) {
  const auto run = std::ranges::find_if(arguments.presets, names_run);
  if (run == arguments.presets.end()) return false;
  if (const auto config = std::ranges::find_if_not(arguments.presets, names_run); config != arguments.presets.end())
    throw Error(ExitCode::usage, printable(*run) + " is a run, and " + printable(*config) +
                                     " is none; compare runs with runs or configs with configs");
  const auto refuse = [](const std::string& option) {
    throw Error(ExitCode::usage, option + " is for trainings, and runs are compared as they are; leave it out");
  };
  for (const char* option : {"--vary", "--seeds", "--score-on", "--jobs", "--engine"})
    if (arguments.given(option)) refuse(option);
  for (const Override& setting : arguments.config.overrides()) refuse(setting.flag);
  return true;
}

/// Whether what is compared is the ladder as such.
bool climbs_ladder(const Arguments& arguments) {
  return arguments.presets == std::vector<std::string>{std::string(ladder_word)} && arguments.varied.empty();
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
  if (arguments.page && arguments.out.empty())
    throw Error(ExitCode::usage, "--page writes into the folder of the comparison, and runs have none; give --out DIR");
  std::optional<ResultsFolder> folder;
  if (!arguments.out.empty()) {
    folder.emplace(arguments.out, "compare", /*goes_on=*/true);
    refuse_foreign_results(folder->path());
  }
  Comparison comparison = compare_runs(arguments.presets, arguments);
  if (arguments.target > 0) find_target(comparison, arguments.target);
  if (folder) write_file_atomically(folder->path() / "compare.json", json_text(to_json(comparison)));
  print_comparison(comparison, form_of(arguments));
  if (arguments.page) write_comparison_page(comparison, folder->path());
  if (folder) log_note("saved in " + folder->path().string());
}

[[noreturn]] void stop(ResultsFolder& folder) {
  log_note("stopped; the same command with --out " + shell_quoted(folder.path().native()) + " continues");
  throw Stopped{stopping_signal()};
}

/// One of several processes that a launcher has started; rank 0 alone tells and writes.
void compare_beside_first(const Arguments& arguments, const std::vector<ResolvedConfig>& configs,
                          const Launch& launched, const Silence& silence) {
  CompareOptions options = compare_options(arguments, arguments.out);
  options.writes = false;
  constexpr double most_seconds = 60;  // until rank 0 has made it
  const double begun = steady_seconds();
  while (!std::filesystem::exists(arguments.out) && steady_seconds() - begun < most_seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CompareHooks hooks;
  hooks.before_run = [](const ComparedRun& run, Trainer& trainer) {
    keep_text(run.run, trainer.corpus());
    add_listeners(trainer, run.run, {.quiet = true}, run.resume_step);
  };
  try {
    if (!compare(configs, options, hooks).complete) throw Stopped{stopping_signal()};
  } catch (const std::exception& error) {
    silence.tell("rank " + std::to_string(launched.rank) + ": " + failure_of(error).line);
    throw;
  }
}

/// What cannot be shared.
void check_shared(const Arguments& arguments) {
  if (arguments.out.empty())
    throw Error(ExitCode::usage, "a comparison of several processes needs --out DIR, a folder that all of them see");
}

void run_compare(const Arguments& arguments) {
  form_of(arguments);
  const std::optional<Launch> launched = launch();
  std::optional<Silence> silence;
  if (launched && launched->rank > 0) silence.emplace();
  if (silence && compares_runs(arguments)) return;
  if (compares_runs(arguments)) return compare_trained(arguments);
  std::vector<ResolvedConfig> configs = configs_of(arguments);
  std::shared_ptr<ProgressPrinter> progress;
  const CompareHooks hooks = hooks_for(arguments, configs.size(), progress);
  if (arguments.only > 0) {
    if (compare_one(configs, compare_options(arguments, arguments.out), arguments.only, hooks)) return;
    throw Stopped{stopping_signal()};
  }
  if (launched) check_shared(arguments);
  if (silence) return compare_beside_first(arguments, configs, *launched, *silence);
  ResultsFolder folder(arguments.out, "compare", /*goes_on=*/true);
  refuse_foreign_results(folder.path());
  log_note(runs_text(configs.size(), arguments.seeds) + " in " + folder.path().string());
  CompareOptions options = compare_options(arguments, folder.path());
  options.start = [&](std::int64_t number) {
    return std::make_unique<ChildProcess>(job_command(arguments, folder.path(), number));
  };
  const Comparison comparison = compare(configs, options, hooks);
  if (progress) progress->finish();
  if (!comparison.complete) stop(folder);
  std::optional<LadderReport> report;
  if (climbs_ladder(arguments)) {
    Corpus corpus = load_common_text(configs, folder.path(), reading_progress(arguments.output));
    if (options.within_train_split) corpus = train_split_of(corpus);
    report = ladder_report(comparison, corpus, configs.front().config.model.block_size);
  }
  print_comparison(comparison, form_of(arguments), report);
  if (arguments.page) write_comparison_page(comparison, folder.path());
  log_note("saved in " + folder.path().string());
}

}  // namespace

void add_compare(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  const Option& config =
      options
          .add("CONFIG", arguments->presets,
               "presets or paths; ladder: every preset of the ladder; or runs, which are compared as they are")
          .stands_for(config_or_run_meant)
          .required();
  settle_presets(options, arguments->presets);
  arguments->given = [&options](const std::string& option) { return options.find(option).given(); };
  options
      .add("--vary", arguments->varied,
           "train each config with each of these values: --vary model.n_head=1,2,4; repeated, with every combination")
      .value_name("KEY=V,V");
  options.add("--seeds", arguments->seeds, "seeds per config: train.seed, train.seed + 1, …").range(1, 1000);
  options
      .add("--score-on", arguments->score_on,
           "train: train on the first part of the train split and score on its last, so that what you choose by the "
           "losses is not chosen by the validation split")
      .one_of({"val", "train"});
  options
      .add("--jobs", arguments->jobs,
           "runs to train at once, sharing the threads; their times are marked, since they share the machine")
      .range(1, 4096);
  options.add("--only", arguments->only, "train only this run, counted from 1").positive().hidden();
  options.add("--target", arguments->target, "also print after how many updates and seconds each config had this loss")
      .positive()
      .default_text("none");
  options.gone("--equal", "give all configs one length: --max_iters or --max_seconds");
  options.gone("--tune-rate", "use --vary train.learning_rate=…,… --score-on train");
  options.gone("--csv", "use --json");
  options.flag("--markdown", arguments->markdown, "print the table as Markdown");
  options.flag("--page", arguments->page, "write compare.html too: a web page of each config's best run");
  options.add("--out", arguments->out,
              "folder of the runs and of compare.json (default runs/compare-<n>); processes that mpirun or srun has "
              "started share the runs in it out among themselves");
  add_training_arguments(options, *arguments);
  arguments->config.help_shows(options, config, "", config_by_name);
  on_parsed(options, arguments, run_compare);
}

}  // namespace chargpt
