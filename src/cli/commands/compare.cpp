// `chargpt compare`: trains the missing runs of configs with several seeds, scores all runs, and ranks them.
#include "compare/compare.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/runs/joined_runs.h"
#include "cli/runs/run_text.h"
#include "cli/training/training.h"
#include "compare/comparison_report.h"
#include "compare/ladder.h"
#include "compare/scoring.h"
#include "config/document.h"
#include "engine/device.h"
#include "evaluate/baseline.h"
#include "evaluate/shared_text.h"
#include "evaluate/split_check.h"
#include "network/model_types.h"
#include "network/parameter_groups.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "text/text_listing.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::vector<std::string> presets;  ///< or runs
  std::vector<std::string> varied;
  std::int64_t seeds = 1, jobs = 1;
  const Options* options = nullptr;  ///< shows which options were given
  std::string out, split = "val";
  double target = 0;  ///< target loss; 0: none
  bool dry_run = false;

  bool test() const { return split == "test"; }
};

// ---- Runs and configs to compare.

/// Whether a word names a run, or one checkpoint of it, rather than a preset or a config's file.
bool names_run(const std::string& word) {
  return preset_meant(word).empty() && (is_checkpoint_file(word) || (is_folder(word) && is_run(word)));
}

/// Whether the words are runs. Throws Error usage if only some are, and for options that only training uses.
bool compares_runs(const Arguments& arguments) {
  const auto run = std::ranges::find_if(arguments.presets, names_run);
  if (run == arguments.presets.end()) return false;
  if (const auto config = std::ranges::find_if_not(arguments.presets, names_run); config != arguments.presets.end())
    throw Error(ExitCode::usage, printable(*run), " is a run but ", printable(*config),
                " is not; compare runs with runs, or configs with configs");
  const auto refuse = [](const std::string& option) {
    throw Error(ExitCode::usage, option, " has no effect on existing runs; remove it");
  };
  for (const char* option : {"--vary", "--seeds", "--jobs", "--engine", "--dry-run"})
    if (arguments.options->find(option).given()) refuse(option);
  for (const Override& setting : arguments.config.overrides()) refuse(setting.flag);
  return true;
}

/// Throws Error usage for an option without effect in all configs; logs a note if it has an effect in some.
void refuse_unused_by_all(const std::vector<Variant>& variants) {
  std::vector<Error> refusals;
  for (const Variant& variant : variants) {
    check_model(variant.options, /*refuses_unused=*/false);
    try {
      refuse_unused(variant.options);
    } catch (const Error& error) {
      refusals.push_back(error);
    }
  }
  if (refusals.size() == variants.size() && !variants.empty()) throw refusals.front();
  for (const Error& error : refusals) log_note(error.what());
}

std::vector<Variant> variants_of(const Arguments& arguments) {
  std::vector<VariedOption> varied;
  for (const std::string& given : arguments.varied) varied.push_back(parse_varied(given));
  std::vector<std::string> presets;
  for (const std::string& preset : arguments.presets) {
    if (preset != ladder_word) presets.push_back(preset);
    if (preset == ladder_word)
      for (const Rung& rung : ladder) presets.emplace_back(rung.preset);
  }
  std::vector<Variant> variants = load_variants(presets, varied, arguments.config.overrides());
  refuse_unused_by_all(variants);
  for (Variant& variant : variants) choose_text(variant.options);
  return variants;
}

void check_test_split(const Arguments& arguments, const Corpus& corpus) {
  if (arguments.test() && corpus.test_tokens() == 0)
    throw Error(ExitCode::usage, "--split test needs data.test_fraction above 0");
}

/// Loads the common text, and logs notes about it.
Corpus text_of(const Arguments& arguments, const std::vector<Variant>& variants) {
  Corpus corpus = common_text(variants, arguments.out, reading_line());
  check_test_split(arguments, corpus);
  if (arguments.target > 0) check_target(variants, corpus);
  log_notices(corpus);
  tell(split_notice(corpus, check_split(corpus)));
  return corpus;
}

// ---- compare.json

/// Reads the results of an earlier comparison in the folder, or null. Throws Error busy for a file of other content.
Json earlier_results(const fs::path& out) {
  const fs::path path = out / "compare.json";
  if (type_at(path) == fs::file_type::not_found) return nullptr;
  const Json json = is_file(path) && !fs::is_symlink(path) ? foreign_json(read_file(path)) : Json();
  if (!json.is_object() || !json.contains("results"))
    throw Error(ExitCode::busy, path.string(),
                " was not written by a comparison; choose another folder with --out DIR");
  return json;
}

/// Seed counts of all verdicts shown so far, in order; the current one is appended if it is new.
std::vector<std::int64_t> looks_with(const Json& earlier, std::int64_t seeds, bool has_verdict) {
  std::vector<std::int64_t> looks;
  if (earlier.is_object())
    for (const Json& look : earlier.value("looks", Json::array()))
      if (look.is_number_integer()) looks.push_back(look.get<std::int64_t>());
  if (seeds > 1 && has_verdict && std::ranges::count(looks, seeds) == 0) looks.push_back(seeds);
  return looks;
}

// ---- Output.

/// The counting baselines on the text of the comparison, for the ladder.
std::vector<Counted> counted_on(const Corpus& corpus, std::int64_t block_size) {
  const Baselines baselines = compute_baselines(corpus, corpus.val(), block_size);
  const std::string best = "counting " + std::to_string(baselines.ngram_order) + "-grams";
  return {{"counting pairs", "what a bigram can reach", baselines.bigram},
          {best, "the best order, of all orders up to 8", baselines.ngram},
          {best, "with no more than a window of " + std::to_string(block_size), baselines.ngram_in_windows}};
}

/// Prints the plan of each config, before any training.
void print_plans(const Arguments& arguments, const std::vector<Variant>& variants, const Corpus& corpus) {
  Report report(Json{{"runs", Json::array()}});
  const auto seeds = static_cast<double>(arguments.seeds);
  double seconds = 0, disk = 0;
  for (const Variant& variant : variants) {
    const PlanEvent plan = Trainer(variant.options, corpus, trainer_options(arguments)).plan(/*measure=*/true);
    seconds += seeds * plan.seconds.value_or(0);
    disk += seeds * static_cast<double>(plan.disk_bytes);
    Json& row = report.json["runs"].emplace_back(to_json(plan));
    row["config"] = variant.name();
    row["trained_tokens"] = plan.max_iters * plan.tokens_per_step;
  }
  const auto steps = [](const Json& row) {
    return (row["by_clock"] == true ? "about " : "") + format_count(row["max_iters"]);
  };
  report.add(table_of(report.json["runs"], {{"config", as_is("config")},
                                            {"params", cell("parameters", format_short)},
                                            {"steps", steps},
                                            {"tokens", cell("trained_tokens", format_short)},
                                            {"memory", cell("memory_bytes", format_bytes)},
                                            {"disk", cell("disk_bytes", format_bytes)},
                                            {"time", cell("expected_seconds", format_duration)}}));
  report.say("\n" + format_count(arguments.seeds * std::ssize(variants), "run") + ", one after the other: about " +
             format_duration(seconds) + " and " + format_bytes(std::llround(disk)) + " of checkpoints\n");
  print_report(report, arguments.output);
}

// ---- Training of missing runs.

/// Threads of each child; 0: the child chooses, and a started run keeps its number.
std::int64_t threads_of_child(const Arguments& arguments, const PlannedRun& run, std::int64_t jobs) {
  const std::int64_t asked = arguments.device.threads;
  if (jobs == 1 || (asked == 0 && !list_checkpoints(run.folder).empty())) return asked;
  return std::max<std::int64_t>(1, (asked > 0 ? asked : physical_cores()) / jobs);
}

/// `chargpt resume RUN`: this very program, even if its file was replaced since it started.
std::unique_ptr<ChildProcess> start_child(const Arguments& arguments, const PlannedRun& run, std::int64_t jobs) {
  const bool line = jobs == 1 && !arguments.output.quiet;
  std::vector<std::string> words{"/proc/self/exe", "resume"};
  const auto add = [&words](const std::string& option, const std::string& value) {
    words.push_back("--" + option + "=" + value);
  };
  add("planned", line ? "shown" : "hidden");
  add("device", arguments.device.device);
  add("threads", std::to_string(threads_of_child(arguments, run, jobs)));
  add("engine", arguments.engine);
  add("color", arguments.output.color);
  // A first run that failed, or that patience ended, has only a part of the shares.
  const Ending first = run.replays.empty() ? Ending::unknown : ending_of_run(run.replays);
  if (first == Ending::seconds || first == Ending::finished) add("replays", run.replays.string());
  if (arguments.output.verbose)
    words.emplace_back("--verbose");
  else if (arguments.output.quiet || run.number > 1)  // notices of one run are enough
    words.emplace_back("--quiet");
  words.insert(words.end(), {"--", run.folder.string()});
  if (line && repaints(STDERR_FILENO)) log_note(run_heading(run));
  return std::make_unique<ChildProcess>(words);
}

/// Collects the results of runs as they end.
class Collector {
 public:
  Collector(const Arguments& arguments, const std::vector<Variant>& variants, const Corpus& corpus)
      : arguments_(arguments),
        corpus_(corpus),
        jobs_(std::min(arguments.jobs, arguments.seeds * std::ssize(variants))) {
    for (const Variant& variant : variants) {
      const Config& config = variant.options.config;
      results_.push_back({.config = config.name,
                          .options = config,
                          .params = count_parameters(config.model, corpus.vocabulary().size()),
                          .levels = variant.levels});
    }
  }

  RunsHooks hooks() {
    return {.jobs = jobs_,
            .stop = &stop_on_signals(arguments_.output.quiet),
            .start = [this](const PlannedRun& run) { return start_child(arguments_, run, jobs_); },
            .ended = [this](const PlannedRun& run, Ending ending, bool reused) { score(run, ending, reused); },
            .failed = [this](const PlannedRun& run, int code) { fail(run, code); },
            .waiting = [](std::int64_t runs) { log_note("other processes train ", format_count(runs, "run")); }};
  }

  /// Seeds in order, whichever ended first.
  std::vector<ConfigRuns> results() {
    for (ConfigRuns& each : results_) std::ranges::sort(each.seeds, {}, &SeedRun::seed);
    return std::move(results_);
  }

  /// Throws Error with the code of the first child that failed. Call after printing everything else.
  void report_failures(const fs::path& out) const {
    if (failures_ == 0 && scored_ == 0)
      throw Error(ExitCode::diverged, "all runs diverged; lower train.learning_rate, or set train.grad_clip");
    if (failures_ == 0) return;
    const bool stopped = std::ranges::count(stopping_signals, failed_with_ - 128) > 0;
    const ExitCode code = failed_with_ == 128 + SIGKILL                          ? ExitCode::memory
                          : failed_with_ < 2 || (failed_with_ > 128 && !stopped) ? ExitCode::internal
                                                                                 : ExitCode(failed_with_);
    throw Error(code, format_count(failures_, "run"),
                " ended without a result (above); to train them again, repeat the command with --out ",
                shell_quoted(out.native()));
  }

 private:
  void score(const PlannedRun& run, Ending ending, bool reused) {
    SeedRun seed{.seed = run.seed(), .ended = ending, .run = run.folder, .failure = "training diverged"};
    if (ending != Ending::diverged) {
      const Heartbeat line = work_line("scoring " + run.name);
      try {
        seed = score_run(run.name, run.folder, corpus_, arguments_.test(), arguments_.device.threads, line).seed;
        ++scored_;
      } catch (const Error& error) {
        if (error.code() != ExitCode::diverged) throw;
        seed.failure = error.what();
      }
    }
    const std::string result = seed.failed() ? seed.failure : arguments_.split + " " + format_loss(seed.loss);
    const bool early = seed.ended == Ending::patience;
    tell(run, (reused ? "trained before: " : "") + result +
                  (early ? ", stopped early by patience after " + format_count(seed.steps, "step") : ""));
    results_[run.config].seeds.push_back(std::move(seed));
  }

  void fail(const PlannedRun& run, int code) {
    if (failures_++ == 0) failed_with_ = code;
    const std::string how = code == 128 + SIGKILL ? "was killed (signal 9), as happens when memory runs out"
                            : code > 128          ? "was ended by signal " + std::to_string(code - 128)
                                                  : "ended with exit code " + std::to_string(code);
    tell(run, how);
    results_[run.config].seeds.push_back({.seed = run.seed(), .run = run.folder, .failure = how});
  }

  /// On a terminal the heading of the run is already shown above.
  void tell(const PlannedRun& run, const std::string& line) const {
    const bool below = jobs_ == 1 && repaints(STDERR_FILENO) && !line.starts_with("trained before");
    below ? log_note("  ", line) : log_note(run_heading(run), ": ", line);
  }

  const Arguments& arguments_;
  const Corpus& corpus_;
  std::int64_t jobs_;  ///< runs to train at once, at most all; they share the threads
  std::vector<ConfigRuns> results_;
  std::int64_t failures_ = 0, scored_ = 0;
  int failed_with_ = 0;
};

/// Ranks the scored runs, and adds remarks.
Comparison ranked(const Arguments& arguments, std::vector<ConfigRuns> runs, const Corpus& corpus) {
  const TokenView scored = arguments.test() ? corpus.test() : corpus.val();
  Comparison comparison = rank_configs(std::move(runs));
  comparison.tokens = scored.size() - 1;
  comparison.split = arguments.split;
  comparison.train_tokens = corpus.train().size();
  comparison.notes.push_back(
      shared_text_line(scored, corpus.train(), corpus.vocabulary().units(), "the " + arguments.split + " split"));
  if (const std::int64_t all = arguments.test() ? corpus.test_tokens() : corpus.val_tokens(); scored.size() < all)
    comparison.notes.push_back(line_of("only the first ", format_count(scored.size()), " of ", format_count(all),
                                       " tokens held out were scored (data.max_val_tokens)"));
  if (arguments.target > 0) find_target(comparison, arguments.target);
  return comparison;
}

/// Returns false if it was stopped.
bool train_missing(const Arguments& arguments, const std::vector<Variant>& variants, const Corpus& corpus,
                   const fs::path& out, Collector& collector) {
  try {
    return run_all(planned_runs(variants, arguments.seeds, out), corpus, collector.hooks());
  } catch (const Interrupted&) {
    return false;
  }
}

void compare_configs(const Arguments& arguments) {
  const std::vector<Variant> variants = variants_of(arguments);
  check_jobs(variants, arguments.jobs);
  const Corpus corpus = text_of(arguments, variants);
  if (arguments.dry_run) return print_plans(arguments, variants, corpus);
  const bool alone = std::ranges::any_of(variants, [](const Variant& variant) {
    const Config& config = variant.options.config;
    return config.train.max_seconds > 0 || std::ranges::count(config.data.text, standard_input_name) > 0;
  });
  const OwnFolder folder = results_folder(arguments.out, alone);
  earlier_results(folder.path);
  log_note(format_count(arguments.seeds * std::ssize(variants), "run"), " (",
           format_count(std::ssize(variants), "config"), " × ", format_count(arguments.seeds, "seed"), ") in ",
           folder.path.string());
  Collector collector(arguments, variants, corpus);
  if (!train_missing(arguments, variants, corpus, folder.path, collector)) {
    log_note("stopped; to continue, repeat the command with --out ", shell_quoted(folder.path.native()));
    throw Stopped{stopping_signal()};
  }
  Comparison comparison = ranked(arguments, collector.results(), corpus);
  const auto looks = looks_with(earlier_results(folder.path), arguments.seeds, comparison.pairs > 0);
  const auto look = std::ranges::find(looks, arguments.seeds);  // absent if nothing was tested
  comparison.look = look == looks.end() ? 1 : look - looks.begin() + 1;
  std::optional<LadderTable> ladder;  // only for the whole ladder
  if (arguments.presets == std::vector{std::string(ladder_word)} && arguments.varied.empty())
    ladder = ladder_table(comparison, counted_on(corpus, variants.front().options.config.model.block_size));
  const Report report = report_of(comparison, ladder);
  Json kept = report.json;
  kept["looks"] = looks;
  write_file_atomically(folder.path / "compare.json", json_text(kept));
  print_report(report, arguments.output);
  log_note("saved in ", folder.path.string());
  collector.report_failures(folder.path);
}

// ---- Existing runs.

/// Loads the text of the first run. Throws Error usage unless all runs have the same training text.
Corpus text_of_runs(const Arguments& arguments) {
  const std::string& front = arguments.presets.front();
  const Checkpoint first = load_checkpoint(front, "last");
  for (const std::string& name : std::span(arguments.presets).subspan(1))
    if (const std::string difference = text_difference(front, first, name, load_checkpoint(name, "last"));
        !difference.empty())
      throw Error(ExitCode::usage, difference,
                  "; losses can be compared only on the same text, units and split; to score a run on another text: "
                  "chargpt eval RUN --text FILE");
  Corpus corpus = text_of_run(first, first.config.config.data, run_of(front), /*named=*/false);
  log_notices(corpus);
  return corpus;
}

/// Writes files only with --out.
void compare_existing(const Arguments& arguments) {
  refuse_twice(arguments.presets);
  std::optional<OwnFolder> folder;
  if (!arguments.out.empty()) earlier_results(folder.emplace(results_folder(arguments.out, /*alone=*/true)).path);
  const Corpus corpus = text_of_runs(arguments);
  check_test_split(arguments, corpus);
  std::vector<TrainedRun> runs;
  std::vector<std::string> remarks;
  for (const std::string& name : arguments.presets) {
    runs.push_back(score_run(name, name, corpus, arguments.test(), arguments.device.threads));
    log_note(name, ", step ", format_count(runs.back().seed.step), ": ", format_loss(runs.back().seed.loss));
  }
  Comparison comparison = ranked(arguments, group_by_config(std::move(runs), remarks), corpus);
  comparison.notes.insert(comparison.notes.end(), remarks.begin(), remarks.end());
  comparison.look = 0;
  const Report report = report_of(comparison);
  if (folder) {  // looks at configs, kept there by earlier comparisons, stay counted
    Json kept = report.json;
    kept["looks"] = looks_with(earlier_results(folder->path), /*seeds=*/0, /*has_verdict=*/false);
    write_file_atomically(folder->path / "compare.json", json_text(kept));
  }
  print_report(report, arguments.output);
}

void run_compare(const Arguments& arguments) {
  compares_runs(arguments) ? compare_existing(arguments) : compare_configs(arguments);
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
  options.add("--split", arguments.split, "the split to score: val, or test, which is not used for any choice")
      .one_of({"val", "test"});
  options.flag("--dry-run", arguments.dry_run, "print the runs with steps, memory, disk and time, and stop");
  options.add("--out", arguments.out, "folder of runs and compare.json (default runs/compare-<n>)").value_name("DIR");
  add_training_arguments(options, arguments);
  options.flag("--markdown", arguments.output.markdown, "print the tables as Markdown")
      .excludes(options.find("--json"));
  arguments.config.help_shows(options, config, "");
}

}  // namespace chargpt
