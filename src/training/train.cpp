// `chargpt train [CONFIG]`: a new run, from a config to figures and a sample.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "baseline/split_check.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/run_text.h"
#include "cli/signals.h"
#include "report/log.h"
#include "report/progress.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"
#include "run/run_name.h"
#include "train/evaluator.h"
#include "training/commands.h"
#include "training/result.h"
#include "training/training.h"

namespace chargpt {

namespace {

struct Arguments : TrainingArguments {
  std::string preset = "default", run, init_from;
  bool overwrite = false, dry_run = false;
};

/// What nanoGPT's init_from takes.
void refuse_words_of_nanogpt(const std::string& init_from) {
  if (init_from == "resume") throw Error(ExitCode::usage, "--init_from resume: chargpt resume RUN goes on with a run");
  if (init_from == "scratch")
    throw Error(ExitCode::usage, "--init_from scratch: a run starts from scratch where --init_from is left out");
  if (init_from.starts_with("gpt2"))
    throw Error(ExitCode::usage, "--init_from " + init_from +
                                     ": OpenAI's weights read no characters but pieces of words, which models here do "
                                     "not; give a run of chargpt");
}

/// The vocabulary of a fine-tuned run is its own text's, grown by the symbols of the run it starts from.
void start_from(Trainer& trainer, const Arguments& arguments) {
  refuse_words_of_nanogpt(arguments.init_from);
  std::vector<std::string> notices;
  const Checkpoint checkpoint = load_checkpoint(arguments.init_from, "best", /*with_optimizer=*/false, notices);
  log_loading(notices);
  trainer.init_from(checkpoint);
}

nlohmann::ordered_json to_json(const PlanEvent& plan) {
  nlohmann::ordered_json json = {{"config", plan.config},         {"model_type", plan.model_type},
                                 {"device", plan.device},         {"cpu_capability", plan.cpu_capability},
                                 {"engine", plan.engine},         {"dtype", plan.dtype},
                                 {"threads", plan.threads},       {"parameters", plan.parameters},
                                 {"vocab_size", plan.vocab_size}, {"train_tokens", plan.train_tokens},
                                 {"val_tokens", plan.val_tokens}, {"text_tokens", plan.text_tokens},
                                 {"text_files", plan.text_files}, {"tokens_per_step", plan.tokens_per_step},
                                 {"max_iters", plan.max_iters},   {"length_set_by", plan.length_set_by},
                                 {"epochs", plan.epochs},         {"memory_bytes", plan.memory_bytes},
                                 {"disk_bytes", plan.disk_bytes}};
  if (plan.seconds) json["expected_seconds"] = *plan.seconds;
  if (!plan.notices.empty()) json["notices"] = plan.notices;
  return json;
}

void print_plan(const Arguments& arguments, const ResolvedConfig& config, Corpus corpus, const Together& together) {
  const std::string split = split_notice(corpus, check_split(corpus));
  TrainerOptions options = trainer_options(arguments, {}, together);
  options.closing = work_after_a_run(config.config, corpus);
  Trainer trainer(config, std::move(corpus), options);
  if (!arguments.init_from.empty()) start_from(trainer, arguments);
  PlanEvent plan = trainer.plan(/*measure=*/true);
  if (!split.empty()) plan.notices.push_back(split);
  together.ranks().finish();
  tell(together.notice(config.config));
  for (const std::string& notice : plan.notices) log_note(notice);
  if (arguments.output.json)
    print_json(to_json(plan));
  else
    std::fputs(plan_text(plan).c_str(), stdout);
}

/// A rank beside rank 0, which has the run folder.
void train_with_first(const Arguments& arguments, const ResolvedConfig& config, Corpus corpus, Together& together) {
  TrainerOptions options = trainer_options(arguments, {}, together);
  options.closing = work_after_a_run(config.config, corpus);
  Trainer trainer(config, std::move(corpus), options);
  if (!arguments.init_from.empty()) start_from(trainer, arguments);
  trainer.plan(/*measure=*/true);
  train_to_end(trainer, {}, arguments, std::nullopt, together);
}

void train(const Arguments& arguments, Together& together) {
  if (arguments.overwrite && arguments.run.empty())
    throw Error(ExitCode::usage,
                "--overwrite needs --run DIR, the folder to start over in; without one the run gets a "
                "new folder");
  if (arguments.dry_run) refuse_occupied(arguments.run, arguments.overwrite);
  ResolvedConfig config = load_config(arguments.preset, arguments.config.overrides());
  check_model(config);
  choose_text(config);
  together.refuse_standard_input(config.config);
  Corpus corpus = load_training_corpus(config, arguments.output);
  check_splits(corpus, config.config.model.block_size);
  limit_evaluations_of_long_split(config, corpus.val().size());
  together.check_same(config, corpus);
  together.check_windows(config.config);
  if (arguments.dry_run) return print_plan(arguments, config, std::move(corpus), together);
  if (!together.first()) return train_with_first(arguments, config, std::move(corpus), together);

  tell(split_notice(corpus, check_split(corpus)));
  NewRun run(arguments.run, config.config.name, arguments.overwrite);
  TrainerOptions options = trainer_options(arguments, run.path(), together);
  options.closing = work_after_a_run(config.config, corpus);
  Trainer trainer(config, std::move(corpus), options);
  if (!arguments.init_from.empty()) start_from(trainer, arguments);
  trainer.plan(/*measure=*/true);  // measured steps need all the memory of the run
  run.begin();
  tell(keep_text(run.path(), trainer.corpus()));
  try {
    train_to_end(trainer, run.path(), arguments, /*resume_step=*/std::nullopt, together);
  } catch (...) {
    if (trainer.state().step > 0 || !list_checkpoints(run.path()).empty()) run.keep();
    throw;
  }
  run.keep();
}

void run_train(const Arguments& arguments) {
  Together together(arguments);
  together.run([&] { train(arguments, together); });
}

}  // namespace

void add_train(Options& options) {
  const auto arguments = std::make_shared<Arguments>();
  const Option& config =
      options.add("CONFIG", arguments->preset, "a preset's name (chargpt configs lists them) or a path");
  options.add("--run", arguments->run, "run folder (default runs/<config>-<n>)");
  options.add("--init_from", arguments->init_from, "start from this run's weights with a fresh optimizer (fine-tuning)")
      .stands_for(run_meant);
  options.flag("--overwrite", arguments->overwrite, "start over in a folder that holds a run");
  options.flag("--dry-run", arguments->dry_run, "print the plan (sizes, epochs, memory, disk, time) and stop");
  add_training_arguments(options, *arguments);
  arguments->config.help_shows(options, config, arguments->preset, config_by_name);
  on_parsed(options, arguments, run_train);
}

}  // namespace chargpt
