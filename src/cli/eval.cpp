// `chargpt eval RUN`: the exact loss of a whole split.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/decoding.h"
#include "cli/figures.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "report/log.h"

namespace chargpt {

namespace {

struct Arguments {
  OutputArguments output;
  DeviceArguments device;
  std::string run, checkpoint = "best", weights = "better", split, engine = "auto";
  std::vector<std::string> text;
  std::int64_t stride = 0;
  Storage storage = Storage::float32;
};

/// The text the run was trained on; null, with a notice, where it is gone or has changed.
std::unique_ptr<Corpus> training_corpus(const Arguments& arguments, const LoadedRun& run) {
  try {
    auto corpus = std::make_unique<Corpus>(load_corpus(run.config().data, {}, run.checkpoint.vocabulary));
    if (corpus->fingerprint() == run.checkpoint.state.data) return corpus;
    log_note("the text has changed since " + arguments.run + " was trained; no baselines");
  } catch (const Error& error) {
    log_note(std::string("no baselines: ") + error.what());
  }
  return nullptr;
}

Corpus own_corpus(const Arguments& arguments, const LoadedRun& run) {
  Corpus corpus = load_corpus(run.config().data, {}, run.checkpoint.vocabulary);
  if (corpus.fingerprint() != run.checkpoint.state.data)
    throw Error(ExitCode::data, "the text has changed since " + arguments.run +
                                    " was trained, so its splits are others; give it by --text to score it as a whole");
  return corpus;
}

Corpus given_corpus(const Arguments& arguments, const LoadedRun& run) {
  DataConfig data = run.config().data;
  data.text = arguments.text;
  return load_corpus(data, {}, run.checkpoint.vocabulary);
}

TokenView chosen_split(const Corpus& corpus, const std::string& name) {
  const TokenView split = name == "train" ? corpus.train() : name == "val" ? corpus.val() : corpus.all();
  if (split.size() < 2)
    throw Error(ExitCode::data, "the " + name + " split has " + std::to_string(split.size()) +
                                    " characters; 2 are the least that can be scored");
  return split;
}

void run_eval(const Arguments& arguments) {
  LoadedRun run = load_run(arguments.run, arguments.checkpoint, arguments.device, arguments.engine, arguments.weights);
  round_matrices(*run.model, arguments.storage);
  const bool own_text = arguments.text.empty();
  const std::string split_name = !arguments.split.empty() ? arguments.split : own_text ? "val" : "all";
  const Corpus corpus = own_text ? own_corpus(arguments, run) : given_corpus(arguments, run);
  for (const std::string& notice : corpus.notices()) log_note(notice);
  const std::unique_ptr<Corpus> trained_on = own_text ? nullptr : training_corpus(arguments, run);
  const Figures figures = measure(*run.engine, *run.model, own_text ? &corpus : trained_on.get(),
                                  chosen_split(corpus, split_name), split_name, arguments.stride);
  if (!arguments.output.json) {
    std::fputs(to_text(figures).c_str(), stdout);
    return;
  }
  nlohmann::ordered_json json = to_json(figures);
  json["checkpoint"] = {{"step", run.checkpoint.state.step}, {"path", run.checkpoint.path.string()}};
  json["text"] = own_text ? run.config().data.text : arguments.text;
  print_json(json);
}

}  // namespace

void add_eval(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("RUN", arguments->run, "run folder, or one checkpoint folder in it")->required();
  app.add_option("--text", arguments->text, "score this text as a whole instead of the run's own; may be repeated")
      ->take_all()
      ->expected(1);
  app.add_option("--split", arguments->split,
                 "train, val or all (default: val of the run's own text, all of a text given by --text)")
      ->check(CLI::IsMember({"train", "val", "all"}));
  app.add_option("--stride", arguments->stride,
                 "overlapping windows: score the last STRIDE characters of each; 0: no overlap")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--checkpoint", arguments->checkpoint, "best, last or step-N");
  add_weights_option(app, arguments->weights);
  add_storage_option(app, arguments->storage);
  app.add_option("--engine", arguments->engine, "auto, autograd or cpu");
  add_device_arguments(app, arguments->device);
  add_output_arguments(app, arguments->output, true);
  on_parsed(app, arguments, run_eval);
}

}  // namespace chargpt
