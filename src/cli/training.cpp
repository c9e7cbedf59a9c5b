#include "cli/training.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/failure.h"
#include "cli/figures.h"
#include "cli/listeners.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "cli/version.h"
#include "generate/generate.h"
#include "model/registry.h"
#include "report/escape.h"
#include "report/log.h"
#include "report/progress.h"

namespace chargpt {

namespace {

/// The best checkpoint's own words, from the start symbol.
std::string final_sample(LoadedRun& best) {
  const SampleConfig& sample = best.config().sample;
  std::string text;
  SampleConfig one = sample;
  one.num_samples = 1;
  generate(*best.model, {best.checkpoint.state.start_symbol}, one, 1337, [&](std::int64_t, std::int64_t id) {
    text += best.checkpoint.vocabulary.symbol(id);
    return true;
  });
  return text;
}

void print_result(const Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments) {
  LoadedRun best = load_run(run.string(), "best", arguments.device, arguments.engine);
  const Corpus& corpus = trainer.corpus();
  const Figures figures = measure(*best.engine, *best.model, &corpus, corpus.val(), "val", 0);
  nlohmann::ordered_json json = to_json(figures);
  json["checkpoint"] = {{"step", best.checkpoint.state.step}, {"path", best.checkpoint.path.string()}};
  json["run"] = run.string();
  json["seconds"] = trainer.state().seconds;
  write_file_atomically(run / "figures.json", json_text(json));
  const std::string sample = final_sample(best);
  if (arguments.output.json) {
    json["sample"] = sample;
    print_json(json);
    return;
  }
  const std::string text =
      to_text(figures) + "\nA sample (chargpt sample " + run.string() + " writes more):\n" + sample + "\n";
  const bool escape = isatty(STDOUT_FILENO) != 0;
  std::fputs((escape ? escape_for_terminal(text) : text).c_str(), stdout);
}

}  // namespace

void add_training_arguments(CLI::App& app, TrainingArguments& arguments) {
  app.add_option("--engine", arguments.engine, "auto, autograd or cpu");
  add_device_arguments(app, arguments.device);
  add_output_arguments(app, arguments.output, true);
  arguments.config.add(app, {"data", "model", "train", "eval", "sample"});
}

void check_model(const ResolvedConfig& config) {
  try {
    check_model_config(config.config.model);
  } catch (const Error& error) {
    throw with_origin(error, config);
  }
}

Corpus load_training_corpus(const ResolvedConfig& config, const std::filesystem::path& cache_folder,
                            const std::optional<Vocabulary>& vocabulary) {
  Corpus corpus = load_corpus(config.config.data, cache_folder, vocabulary);
  for (const std::string& notice : corpus.notices()) log_note(notice);
  return corpus;
}

TrainerOptions trainer_options(const TrainingArguments& arguments, const std::filesystem::path& run) {
  TrainerOptions options;
  options.run = run;
  options.device = arguments.device.device;
  options.engine = arguments.engine;
  options.threads = arguments.device.threads;
  options.stop = &stop_on_signals();
  options.process_started = process_start_seconds();
  options.program_version = program_version();
  return options;
}

void train_to_end(Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  std::optional<std::int64_t> resume_step) {
  const auto progress = add_listeners(trainer, run, arguments.output, resume_step);
  const Ending ending = trainer.run();
  progress->finish();
  if (ending == Ending::stopped) {
    log_note("stopped at step " + std::to_string(trainer.state().step) + " and saved; go on by");
    log_note("  chargpt resume " + run.string());
    throw Stopped{stopping_signal()};
  }
  print_result(trainer, run, arguments);
}

}  // namespace chargpt
