#include "cli/training/result.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/quote.h"
#include "cli/failure.h"
#include "cli/figures.h"
#include "cli/loaded_run.h"
#include "cli/print_json.h"
#include "cli/print_text.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "generate/generate.h"
#include "inference/model_types.h"
#include "report/format.h"
#include "report/log.h"

namespace chargpt {

namespace {

/// Shows `what` and looks for a signal.
Heartbeat heartbeat_of(const Trainer& trainer, ProgressPrinter& progress, std::string_view what) {
  return [&trainer, &progress, what](double part) {
    if (stopping_signal() != 0) throw Interrupted{};
    progress.on(WorkEvent{what, part, trainer.state().step, trainer.seconds()});
  };
}

/// What the best checkpoint writes from the start symbol.
std::string final_sample(LoadedRun& best) {
  SampleConfig one = best.config().sample;
  one.num_samples = 1;
  std::string text;
  generate(best.predictor(), {best.checkpoint.state.start_symbol}, one, 1337, [&](std::int64_t, std::int64_t id) {
    if (stopping_signal() != 0) throw Interrupted{};
    text += best.checkpoint.vocabulary.symbol(id);
    return true;
  });
  return text;
}

struct Result {
  nlohmann::ordered_json json;
  std::string text;
};

Result result_of(const Trainer& trainer, LoadedRun& best, ProgressPrinter& progress) {
  const Corpus& corpus = trainer.corpus();
  const Heartbeat evaluating = heartbeat_of(trainer, progress, "evaluating");
  const Heartbeat counting = heartbeat_of(trainer, progress, "measuring baselines");
  evaluating(0);
  Figures figures =
      measure(best.predictor(), best.config().model, best.config().data.units, validation_of(corpus, best), evaluating);
  counting(0);
  figures.baselines =
      compute_baselines(corpus, corpus.val(), {.length = figures.block_size}, /*validation=*/true, counting);
  return {to_json(figures), to_text(figures, terminal_columns(STDOUT_FILENO))};
}

void print(const Result& result, const std::string& sample, const std::filesystem::path& run, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json json = result.json;
    add_text(json, "sample", sample);
    return print_json(json);
  }
  print_text(result.text + "\nA sample (chargpt sample " + shell_quoted(run.native()) + " writes more):\n" + sample +
             "\n");
}

}  // namespace

/// The best checkpoint, loaded anew, and the baselines: 21 to 37 bytes for each token of four texts.
std::int64_t memory_of_result(const Config& config, const Corpus& corpus) {
  constexpr std::int64_t bytes_per_token = 28, most_tokens = 10'000'000, bytes_per_parameter = 4;
  return bytes_per_parameter * count_parameters(config.model, corpus.vocabulary().size()) +
         bytes_per_token * std::min(most_tokens, corpus.all().size());
}

void print_result(const Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  ProgressPrinter& progress) {
  if (trainer.config().config.train.max_seconds > 0)
    log_note("exact figures, baselines and a sample follow; their time does not count towards max_seconds");
  try {
    const RunState& state = trainer.state();
    LoadedRun best = load_run(run.string(), "best", {.threads = state.threads});
    Result result = result_of(trainer, best, progress);
    result.json["checkpoint"] = {{"step", best.checkpoint.state.step}, {"path", best.checkpoint.path.string()}};
    result.json["run"] = run.string();
    result.json["ended"] = enum_name(state.ended);
    result.json["seconds"] = state.seconds;
    write_file_atomically(run / "figures.json", json_text(result.json));
    const std::string sample = final_sample(best);
    progress.finish();
    print(result, sample, run, arguments.output.json);
  } catch (const Interrupted&) {
    progress.finish();
    log_note("the run is saved; `chargpt eval " + shell_quoted(run.native()) + "` gives its figures");
    throw Stopped{stopping_signal()};
  }
}

}  // namespace chargpt
