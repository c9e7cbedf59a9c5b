// `chargpt tune CONFIG --minutes M`: a better config for the time available.
#include "experiment/tune/tune.h"
#include "base/quote.h"
#include "cli/print_json.h"
#include "cli/print_text.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "cli/failure.h"
#include "cli/process.h"
#include "cli/run_text.h"
#include "cli/signals.h"
#include "report/json_text.h"
#include "report/log.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "training/commands.h"
#include "training/together.h"
#include "training/training.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string preset, out;
  double minutes = 10, memory = 0;
};

/// Two searches in one folder would each replace what the other found. Its file goes with it: a search that is stopped
/// leaves an empty folder, which is removed.
class ResultsLock {
 public:
  explicit ResultsLock(ResultsFolder& folder) : folder_(folder), lock_(taken(folder.path())) {}
  ~ResultsLock() try {
    std::filesystem::remove(folder_.path() / ".lock");  // where the folder is now
  } catch (const std::exception&) {
  }
  ResultsLock(const ResultsLock&) = delete;
  ResultsLock& operator=(const ResultsLock&) = delete;

 private:
  static RunLock taken(const std::filesystem::path& folder) try { return RunLock(folder); } catch (const Error& error) {
    if (error.code() != ExitCode::busy) throw;
    throw Error(ExitCode::busy, "another tune is writing to " + printable_path(folder) +
                                    "; wait for it, stop it, or choose another folder with --out DIR");
  }

  ResultsFolder& folder_;
  const RunLock lock_;
};

/// With every option that decides what is searched.
std::string command_of(const Arguments& arguments) {
  std::string command =
      "chargpt tune " + shell_quoted(arguments.preset) + " --minutes " + nlohmann::json(arguments.minutes).dump();
  if (arguments.memory > 0) command += " --memory " + nlohmann::json(arguments.memory).dump();
  if (arguments.engine != "auto") command += " --engine " + shell_quoted(arguments.engine);
  for (const std::string& word : as_arguments(arguments.config.overrides())) command += " " + shell_quoted(word);
  return command;
}

TuneOptions tune_options(const Arguments& arguments, const Together& together) {
  TuneOptions options;
  options.seconds = 60 * arguments.minutes;
  options.memory = static_cast<std::int64_t>(1e9 * arguments.memory);
  options.trainer = trainer_options(arguments, {});  // each training is one rank's
  options.trainer.threads = together.threads();
  options.ranks = &together.ranks();
  options.told = [](const std::string& line) { log_note(line); };
  return options;
}

void search(const Arguments& arguments, Together& together) {
  ResolvedConfig config = load_config(arguments.preset, arguments.config.overrides());
  check_model(config);
  together.refuse_standard_input(config.config);
  choose_text(config);
  const Corpus corpus = load_training_corpus(config, arguments.output);
  together.check_same(config, corpus);
  if (!together.first()) {
    const Tuning tuning = tune(config, corpus, tune_options(arguments, together));
    together.ranks().finish();
    if (!tuning.complete) throw Stopped{stopping_signal()};
    return;
  }
  ResultsFolder folder(arguments.out, "tune");
  const ResultsLock lock(folder);
  const Tuning tuning = tune(config, corpus, tune_options(arguments, together));
  together.ranks().finish();
  if (!tuning.complete) {
    log_note("stopped before the search ended; nothing was saved");
    throw Stopped{stopping_signal()};
  }
  const nlohmann::ordered_json json = to_json(tuning);
  const std::filesystem::path& out = folder.path();
  write_file_atomically(out / "tuned.json", tuned_text(tuning, command_of(arguments)));
  write_file_atomically(out / "tune.json", json_text(json));
  if (arguments.output.json)
    print_json(json);
  else {
    print_table(to_table(tuning));
    std::printf(
        "%s\nlosses are on a held-out part of the train split; the search did not look at the validation split\n",
        json["verdict"].get<std::string>().c_str());
  }
  log_note("chargpt train " + shell_quoted((out / "tuned.json").native()) + " trains the config it found");
}

/// A rank may wait for another one's training, which may be the longest of the search.
void run_tune(const Arguments& arguments) {
  Together together(arguments, /*seconds_of_work=*/60 * arguments.minutes);
  together.run([&] { search(arguments, together); });
}

}  // namespace

void add_tune(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  const Option& config =
      options.add("CONFIG", arguments->preset, "a preset's name or a path: where the search starts").required();
  settle_preset(options, arguments->preset);
  options.add("--minutes", arguments->minutes, "time for the whole search").positive();
  options.add("--memory", arguments->memory, "GB that a run may take; 0: half of the memory").non_negative();
  options.add("--out", arguments->out, "folder of tuned.json and tune.json (default runs/tune-<n>)");
  add_training_arguments(options, *arguments);
  arguments->config.help_shows(options, config, "", config_by_name);
  on_parsed(options, arguments, run_tune);
}

}  // namespace chargpt
