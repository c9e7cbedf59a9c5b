#include "training/bench_learn.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/files.h"
#include "cli/failure.h"
#include "cli/print_json.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "cli/signals.h"
#include "experiment/time_to_loss/time_to_loss.h"
#include "report/format.h"
#include "report/log.h"
#include "run/run_folder.h"
#include "training/training.h"

namespace chargpt {

namespace {

namespace fs = std::filesystem;

/// What train.max_seconds came to for a config's first seed, so that all its seeds have one schedule; none if another
/// limit sets the length, or nothing is settled yet.
std::optional<std::int64_t> settled_by_seconds(const fs::path& first_run) {
  std::error_code ignored;
  const fs::path path = first_run / "config.json";
  if (!fs::exists(path, ignored)) return std::nullopt;
  const TrainConfig train = parse_config(read_file(path), path.string(), first_run).config.train;
  return train.max_seconds > 0 ? std::optional(train.max_iters) : std::nullopt;
}

std::vector<std::string> training_command(const LearnArguments& arguments, std::size_t index, std::int64_t seed,
                                          const fs::path& run, const std::optional<std::int64_t>& max_iters) {
  std::vector<std::string> words{"train", arguments.presets[index]};
  std::vector<Override> overrides = arguments.overrides;
  std::erase_if(overrides, [](const Override& one) { return one.key == "seed" || one.key == "train.seed"; });
  if (max_iters) {
    std::erase_if(overrides, [](const Override& given) {
      return given.key == "train.max_seconds" || given.key == "train.max_iters";
    });
    overrides.push_back({"train.max_iters", std::to_string(*max_iters), "--seeds"});
  }
  const std::vector<std::string> settings = as_arguments(overrides);
  words.insert(words.end(), settings.begin(), settings.end());
  words.insert(
      words.end(),
      {"--set", "train.seed=" + std::to_string(seed), "--run=" + run.string(), "--device=" + arguments.device.device,
       "--threads=" + std::to_string(arguments.device.threads), "--engine=" + arguments.engine, "--quiet"});
  return own_command(words);
}

/// The system rounds a process's start to a hundredth of a second, so it may seem to lie just before the request.
StartedTraining start_training(const std::vector<std::string>& command) {
  const double asked = steady_seconds();
  StartedTraining started{std::make_unique<ChildProcess>(command)};
  started.launch_seconds = std::max(0.0, process_start_seconds(started.process->id()) - asked);
  return started;
}

std::string outcome(const std::string& config, const TimedRun& run) {
  const std::string name = config + ", seed " + std::to_string(run.seed) + ": ";
  if (run.reached)
    return name + format_fixed(run.reached->loss, 4) + " after " + format_fixed(*run.seconds(), 2) + " s and " +
           format_count(run.reached->step) + " steps";
  return name + "never reached the target" + (run.failure.empty() ? "" : ": " + run.failure);
}

void print(const LearnArguments& arguments, const TimesToLoss& learned, const nlohmann::ordered_json& json) {
  if (arguments.output.json) {
    print_json(json);
    return;
  }
  print_table(to_table(learned.configs));
  std::printf(
      "seconds from process start to a loss of %s or less on the whole validation split, including start-up, "
      "evaluations "
      "and saving; training: the part of them spent in steps\n",
      nlohmann::json(arguments.target).dump().c_str());
}

}  // namespace

void add_learn_options(Options& options, LearnArguments& arguments) {
  options.add("--target", arguments.target, "learn: the loss to reach, in nats per character")
      .positive()
      .default_text("");
  options.add("--seeds", arguments.seeds, "learn: seeds per config: train.seed, train.seed + 1, …").range(1, 1000);
  options.add("--out", arguments.out, "learn: folder of the runs, learn.json and learn.svg (default runs/learn-<n>)");
  options.flag("--to-the-end", arguments.to_the_end,
               "learn: let runs continue past the target, for their whole curves");
}

void run_bench_learn(const LearnArguments& arguments) {
  std::vector<ResolvedConfig> configs;
  for (const std::string& preset : arguments.presets) {
    configs.push_back(load_config(preset, arguments.overrides));
    check_model(configs.back());
    choose_text(configs.back());
  }
  TimeToLossOptions options;
  options.target = arguments.target;
  options.seeds = arguments.seeds;
  options.to_the_end = arguments.to_the_end;
  options.stop = &stop_on_signals(arguments.output.quiet);
  ResultsFolder folder(arguments.out, "learn");
  options.out = folder.path();
  std::map<std::size_t, fs::path> first_runs;
  options.start = [&](std::size_t index, std::int64_t seed, const fs::path& run) {
    const fs::path first = first_runs.try_emplace(index, run).first->second;
    return start_training(training_command(arguments, index, seed, run, settled_by_seconds(first)));
  };
  options.after_run = [](const std::string& config, const TimedRun& run) { log_note(outcome(config, run)); };
  const TimesToLoss learned = time_to_loss(configs, options);
  if (!learned.complete) throw Stopped{stopping_signal()};
  nlohmann::ordered_json json = to_json(learned.configs, arguments.target);
  write_file_atomically(folder.path() / "learn.json", json_text(json));
  write_file_atomically(folder.path() / "learn.svg", svg(to_chart(learned.configs, arguments.target)));
  print(arguments, learned, json);
  log_note("saved in " + folder.path().string());
}

}  // namespace chargpt
