#include "cli/bench_learn.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/run_folder.h"
#include "cli/signals.h"
#include "cli/training.h"
#include "experiment/learn.h"
#include "report/format.h"
#include "report/log.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> training_command(const LearnArguments& arguments, std::size_t index, std::int64_t seed,
                                          const fs::path& run) {
  std::vector<std::string> words{"train", arguments.presets[index]};
  const std::vector<std::string> settings = as_arguments(arguments.overrides);
  words.insert(words.end(), settings.begin(), settings.end());
  words.insert(
      words.end(),
      {"--set", "train.seed=" + std::to_string(seed), "--run=" + run.string(), "--device=" + arguments.device.device,
       "--threads=" + std::to_string(arguments.device.threads), "--engine=" + arguments.engine, "--quiet"});
  return own_command(words);
}

/// The system notes a process's start to a hundredth of a second, which may seem to be just before it was asked for.
StartedTraining start_training(const std::vector<std::string>& command) {
  const double asked = steady_seconds();
  StartedTraining started{std::make_unique<ChildProcess>(command)};
  started.launch_seconds = std::max(0.0, process_start_seconds(started.process->id()) - asked);
  return started;
}

std::string outcome(const std::string& config, const LearnRun& run) {
  const std::string name = config + ", seed " + std::to_string(run.seed) + ": ";
  if (run.reached)
    return name + format_fixed(run.reached->loss, 4) + " after " + format_fixed(*run.seconds(), 2) + " s and " +
           format_count(run.reached->step) + " updates";
  return name + "never reached the target" + (run.failure.empty() ? "" : ": " + run.failure);
}

void print(const LearnArguments& arguments, const Learned& learned, const nlohmann::ordered_json& json) {
  if (arguments.output.json) {
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::fputs(to_table(learned.configs).text().c_str(), stdout);
  std::printf(
      "seconds from process start to a loss of %s or less on the whole validation split, start, evaluations and "
      "saving included; training: of these, in updates\n",
      nlohmann::json(arguments.target).dump().c_str());
}

}  // namespace

void add_learn_options(CLI::App& app, LearnArguments& arguments) {
  app.add_option("--target", arguments.target, "learn: the loss to reach, in nats per character")
      ->check(CLI::PositiveNumber);
  app.add_option("--seeds", arguments.seeds, "learn: seeds per config: train.seed, train.seed + 1, …")
      ->check(CLI::Range(1, 1000));
  app.add_option("--out", arguments.out,
                 "learn: folder of the runs, learn.json and learn.svg (default runs/learn-<n>)");
  app.add_flag("--to-the-end", arguments.to_the_end, "learn: let runs go on after the target, for their whole curves");
}

void run_bench_learn(const LearnArguments& arguments) {
  std::vector<ResolvedConfig> configs;
  for (const std::string& preset : arguments.presets) {
    configs.push_back(load_config(preset, arguments.overrides));
    check_model(configs.back());
  }
  LearnOptions options;
  options.target = arguments.target;
  options.seeds = arguments.seeds;
  options.to_the_end = arguments.to_the_end;
  options.stop = &stop_on_signals();
  options.out = make_run_folder(arguments.out, "learn");
  options.start = [&](std::size_t index, std::int64_t seed, const fs::path& run) {
    return start_training(training_command(arguments, index, seed, run));
  };
  options.after_run = [](const std::string& config, const LearnRun& run) { log_note(outcome(config, run)); };
  const Learned learned = learn(configs, options);
  if (!learned.complete) throw Stopped{stopping_signal()};
  nlohmann::ordered_json json = to_json(learned.configs, arguments.target);
  write_file_atomically(options.out / "learn.json", json.dump(2) + "\n");
  write_file_atomically(options.out / "learn.svg", svg(to_chart(learned.configs, arguments.target)));
  print(arguments, learned, json);
  log_note("kept in " + options.out.string());
}

}  // namespace chargpt
