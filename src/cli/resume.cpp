// `chargpt resume RUN`: goes on exactly where a run stopped.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/unfinished_files.h"
#include "cli/commands.h"
#include "cli/loaded_run.h"
#include "cli/run_folder.h"
#include "cli/training.h"
#include "report/log.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string run, checkpoint = "last";
};

/// Weights fit one model and one text: what changes them is a new run.
void refuse_another_model(const Config& before, const Config& after) {
  const auto old_json = to_json(before), new_json = to_json(after);
  for (const std::string section : {"model", "data"})
    for (const auto& [key, value] : old_json[section].items())
      if (value != new_json[section][key])
        throw Error(ExitCode::usage, section + "." + key + " cannot change from " + value.dump() + " to " +
                                         new_json[section][key].dump() + " when a run goes on; start a new one by " +
                                         "`chargpt train --init_from`");
}

void run_resume(const Arguments& arguments) {
  const auto [run, which] = run_place(arguments.run, arguments.checkpoint);
  if (!std::filesystem::is_directory(run / "checkpoints") && !std::filesystem::exists(run / "config.json"))
    throw Error(ExitCode::missing, run.string() + " is not a run folder; chargpt runs lists those of runs/");
  const RunLock lock(run);
  remove_unfinished_files(run);
  remove_unfinished_files(run / "samples");
  std::vector<std::string> notices;
  const Checkpoint checkpoint = load_checkpoint(run, which, /*with_optimizer=*/true, notices);
  log_loading(notices);
  ResolvedConfig config = checkpoint.config;
  apply_overrides(config, arguments.config.overrides());
  refuse_another_model(checkpoint.config.config, config.config);
  Trainer trainer(config, load_training_corpus(config, run, checkpoint.vocabulary), trainer_options(arguments, run));
  trainer.resume_from(checkpoint);
  if (trainer.state().step >= trainer.config().config.train.max_iters)
    log_note("all " + std::to_string(trainer.state().step) + " updates are done; --max_iters N goes on to N");
  train_to_end(trainer, run, arguments, checkpoint.state.step);
}

}  // namespace

void add_resume(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("RUN", arguments->run, "run folder, or one checkpoint folder in it")->required();
  app.add_option("--checkpoint", arguments->checkpoint, "last, best or step-N");
  add_training_arguments(app, *arguments);
  on_parsed(app, arguments, run_resume);
}

}  // namespace chargpt
