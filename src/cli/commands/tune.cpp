// `chargpt tune CONFIG --minutes M`: a better config for the time available.
#include "experiment/tune.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "cli/runs/run_text.h"
#include "cli/training/children.h"
#include "cli/training/process_group.h"
#include "cli/training/training.h"
#include "ranks/launch.h"
#include "report/json_text.h"
#include "report/log.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string preset, out;
  double minutes = 10, memory = 0;
};

/// The whole command, but for where its results go.
std::string command_of(const Arguments& arguments) {
  std::string command =
      "chargpt tune " + shell_quoted(arguments.preset) + " --minutes " + nlohmann::json(arguments.minutes).dump();
  if (arguments.memory > 0) command += " --memory " + nlohmann::json(arguments.memory).dump();
  if (arguments.engine != "auto") command += " --engine " + shell_quoted(arguments.engine);
  if (arguments.device.device != "auto") command += " --device " + arguments.device.device;
  if (arguments.device.threads > 0) command += " --threads " + std::to_string(arguments.device.threads);
  for (const Override& option : arguments.config.overrides())
    command += " --set " + shell_quoted(option.key + "=" + option.value);
  return command;
}

/// As tuned.json in `out` finds it: a preset by its name, a file by its path from there.
std::string extended_by(const std::string& preset, const std::filesystem::path& out) {
  if (std::ranges::count(presets(), preset, &Preset::name) > 0) return preset;
  return is_there(preset) ? std::filesystem::proximate(preset, out).string() : "ladder/" + preset;
}

TuneOptions tune_options(const Arguments& arguments, const std::filesystem::path& out, const Corpus& corpus,
                         RunsWatcher& watcher) {
  TuneOptions options;
  options.seconds = 60 * arguments.minutes;
  options.memory = static_cast<std::int64_t>(1e9 * arguments.memory);
  options.overhead = steady_seconds() - process_start_seconds();  // a child begins as this process did
  options.trainer = trainer_options(arguments, {});
  options.told = [&watcher](const std::string& line) {
    watcher.clear();
    log_note(line);
  };
  options.train = [&, stop = options.trainer.stop](PlannedRun candidate) {
    const ChildOrder order{.within_train_split = true,
                           .scores = false,
                           .verbose = arguments.output.verbose,
                           .device = arguments.device,
                           .engine = arguments.engine};
    candidate.folder = out / "candidate";
    RunsHooks hooks = watcher.hooks();
    hooks.start = [&](const PlannedRun& run) { return start_child(order, run, corpus); };
    return train_candidate(candidate, stop, hooks);
  };
  return options;
}

void show(const Tuning& tuning, const Arguments& arguments) {
  const nlohmann::ordered_json json = to_json(tuning);
  if (arguments.output.json) return print_json(json);
  print_table(to_table(tuning));
  print_lines(json["verdict"].get<std::string>() +
              "\nlosses are on a held-out part of the train split; the search did not use the validation split\n");
}

void run_tune(const Arguments& arguments) {
  std::optional<MuteOutput> mute;
  if (const auto launched = launch()) {
    if (launched->rank > 0) mute.emplace();
    throw Error(ExitCode::usage, "tune over processes is gone; start it without ", launched->by);
  }
  ResolvedConfig config = load_config(arguments.preset, arguments.config.overrides());
  check_model(config);
  choose_text(config);
  const Corpus corpus = named_text(config.config.data, std::nullopt, arguments.output);
  stop_on_signals(arguments.output.quiet);  // before there is a folder that a signal would leave behind
  const ResultsFolder folder(arguments.out, "tune");
  const std::filesystem::path& out = folder.path();
  RunsWatcher watcher(arguments.output, /*configs=*/0);
  const Tuning tuning = tune(config, corpus, tune_options(arguments, out, corpus, watcher));
  watcher.clear();
  if (!tuning.any_trained()) {
    log_note("stopped before a candidate was measured; nothing was saved");
    throw Stopped{stopping_signal()};
  }
  const TunedFrom from{extended_by(arguments.preset, out), load_config(arguments.preset).config, command_of(arguments)};
  write_file_atomically(out / "tuned.json", tuned_text(tuning, from));
  write_file_atomically(out / "tune.json", json_text(to_json(tuning)));
  if (!tuning.complete) {
    log_note("stopped; the best config found so far is in ", printable_path(out / "tuned.json"));
    throw Stopped{stopping_signal()};
  }
  show(tuning, arguments);
  log_note("to train the config that was found:");
  log_hint("chargpt train ", shell_quoted((out / "tuned.json").native()));
}

}  // namespace

void add_tune(Options& options) {
  Arguments& arguments = arguments_for(options, run_tune);
  const Option& config =
      options.add("CONFIG", arguments.preset, "a preset's name or a path: where the search starts").required();
  settle_preset(options, arguments.preset);
  options.add("--minutes", arguments.minutes, "time for the whole search").range(0, 1'000'000).positive();
  options.add("--memory", arguments.memory, "GB that a run may take; 0: half of the memory").range(0, 1'000'000);
  options.add("--out", arguments.out, "folder of tuned.json and tune.json (default runs/tune-<n>)");
  add_training_arguments(options, arguments);
  arguments.config.help_shows(options, config, "");
}

}  // namespace chargpt
