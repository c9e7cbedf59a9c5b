// `chargpt compare CONFIG…`: several configs, several seeds, one ranked table.
#include "experiment/compare.h"
#include "cli/print_json.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/listeners.h"
#include "cli/process.h"
#include "cli/run_folder.h"
#include "cli/signals.h"
#include "cli/training.h"
#include "report/format.h"
#include "report/log.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::vector<std::string> presets;
  std::int64_t seeds = 1, jobs = 1;
  std::int64_t only = 0;  ///< the one run that this process is for, from 1; 0: all
  std::string out;
};

/// The command line of a process for run `number` alone.
std::vector<std::string> job_command(const Arguments& arguments, const std::filesystem::path& out, std::int64_t number,
                                     std::int64_t threads) {
  std::vector<std::string> words{"compare"};
  words.insert(words.end(), arguments.presets.begin(), arguments.presets.end());
  const std::vector<std::string> settings = as_arguments(arguments.config.overrides());
  words.insert(words.end(), settings.begin(), settings.end());
  const auto add = [&words](const std::string& option, const std::string& value) {
    words.push_back(option + "=" + value);
  };
  add("--seeds", std::to_string(arguments.seeds));
  add("--jobs", std::to_string(arguments.jobs));
  add("--only", std::to_string(number));
  add("--out", out.string());
  add("--device", arguments.device.device);
  add("--threads", std::to_string(threads));
  add("--engine", arguments.engine);
  words.emplace_back("--quiet");
  return own_command(words);
}

CompareOptions compare_options(const Arguments& arguments) {
  CompareOptions options;
  options.seeds = arguments.seeds;
  options.jobs = arguments.jobs;
  options.out = arguments.out.empty() ? make_run_folder("", "compare") : std::filesystem::path(arguments.out);
  options.trainer = trainer_options(arguments, {});
  options.start = [&arguments, out = options.out](std::int64_t number, std::int64_t threads) {
    return std::make_unique<ChildProcess>(job_command(arguments, out, number, threads));
  };
  return options;
}

std::string heading(const ComparedRun& run) {
  return "run " + std::to_string(run.number) + " of " + std::to_string(run.total) + ": " + run.config + ", seed " +
         std::to_string(run.seed) + (run.resume_step ? ", from step " + std::to_string(*run.resume_step) : "");
}

CompareHooks hooks_for(const Arguments& arguments, std::shared_ptr<ProgressPrinter>& progress) {
  CompareHooks hooks;
  hooks.before_run = [&](const ComparedRun& run, Trainer& trainer) {
    log_note(heading(run));
    progress = add_listeners(trainer, run.run, arguments.output, run.resume_step);
  };
  hooks.started = [](const ComparedRun& run) { log_note(heading(run)); };
  hooks.after_run = [&](const ComparedRun& run, const SeedRun& result, bool reused) {
    if (progress) progress->finish();
    const std::string outcome = result.failure.empty() ? format_loss(result.loss) : result.failure;
    log_note((reused ? heading(run) + ", trained before: " : run.config + ", seed " + std::to_string(run.seed) + ": ") +
             outcome);
  };
  hooks.notice = [](const std::string& line) { log_note(line); };
  return hooks;
}

void run_compare(const Arguments& arguments) {
  std::vector<ResolvedConfig> configs;
  for (const std::string& preset : arguments.presets) {
    configs.push_back(load_config(preset, arguments.config.overrides()));
    check_model(configs.back());
  }
  const CompareOptions options = compare_options(arguments);
  std::shared_ptr<ProgressPrinter> progress;
  if (arguments.only > 0) {
    if (!compare_one(std::move(configs), options, arguments.only, hooks_for(arguments, progress)))
      throw Stopped{stopping_signal()};
    return;
  }
  const Comparison comparison = compare(std::move(configs), options, hooks_for(arguments, progress));
  if (progress) progress->finish();
  if (!comparison.complete) {
    log_note("stopped; the same command with --out " + options.out.string() + " goes on");
    throw Stopped{stopping_signal()};
  }
  if (arguments.output.json)
    print_json(to_json(comparison));
  else
    std::fputs(to_table(comparison).text().c_str(), stdout);
  for (const std::string& remark : remarks(comparison)) log_note(remark);
  log_note("kept in " + options.out.string());
}

}  // namespace

void add_compare(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("CONFIG", arguments->presets, "presets or paths")->required()->expected(1, 1000);
  app.add_option("--seeds", arguments->seeds, "seeds per config: train.seed, train.seed + 1, …")
      ->check(CLI::Range(1, 1000));
  app.add_option(
         "--jobs", arguments->jobs,
         "trainings at once, the threads divided among them; their times are marked, for they share the machine")
      ->check(CLI::Range(1, 4096));
  app.add_option("--only", arguments->only)->check(CLI::PositiveNumber)->group("");
  app.add_option("--out", arguments->out, "folder of the runs and of compare.json (default runs/compare-<n>)");
  add_training_arguments(app, *arguments);
  on_parsed(app, arguments, run_compare);
}

}  // namespace chargpt
