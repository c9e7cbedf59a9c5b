#include "training/result.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/files.h"
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

constexpr double seconds_of_the_rest = 0.5;  ///< loading the best checkpoint, an interval, a sample, leaving
constexpr double most_for_baselines = 0.1;   ///< of train.max_seconds

double validations(const Config& config) {
  return config.model.block_size > 64 ? 2 : 1;  // windows of 64 beside the model's own
}

/// Estimated from a piece of the text: counting and compressing take time in proportion to its length, and a bit more.
double seconds_of_baselines(const Corpus& corpus) {
  constexpr std::int64_t piece = 1 << 17;
  constexpr double slower_when_longer = 1.5;
  const TokenView beginning = corpus.all().slice(0, std::min(piece, corpus.all().size()));
  const Corpus part(corpus.vocabulary(), beginning, nullptr, corpus.holdout());
  if (part.val().size() < 2) return 0;
  const double begun = steady_seconds();
  compute_baselines(part, part.val(), {.length = 64}, /*validation=*/true);
  const double scale = static_cast<double>(corpus.train().size() + corpus.val().size()) /
                       static_cast<double>(part.train().size() + part.val().size());
  return (steady_seconds() - begun) * scale * slower_when_longer;
}

/// Bytes of the best checkpoint, loaded anew, and of the baselines: 21 to 37 for each token of four texts.
std::int64_t memory_of_result(const Config& config, const Corpus& corpus) {
  constexpr std::int64_t bytes_per_token = 28, most_tokens = 10'000'000, bytes_per_parameter = 4;
  return bytes_per_parameter * count_parameters(config.model, corpus.vocabulary().size()) +
         bytes_per_token * std::min(most_tokens, corpus.all().size());
}

/// Thrown when train.max_seconds is up.
struct OutOfTime {};

/// The time left for the work that follows a run.
class Remaining {
 public:
  Remaining(const Trainer& trainer, ProgressPrinter& progress)
      : trainer_(trainer), progress_(progress), most_(trainer.config().config.train.max_seconds) {}

  /// Whether work of `seconds` fits, and then ending the process.
  bool fits(double seconds) const { return most_ == 0 || trainer_.seconds() + seconds + 0.3 <= most_; }

  /// Shows `what` and looks for a signal; `ends`: also for the end of the time.
  Heartbeat heartbeat(std::string_view what, bool ends) const {
    return [this, what, ends](double part) {
      if (stopping_signal() != 0) throw Interrupted{};
      if (ends && !fits(0)) throw OutOfTime{};
      progress_.on(WorkEvent{what, part, trainer_.state().step, trainer_.seconds()});
    };
  }

 private:
  const Trainer& trainer_;
  ProgressPrinter& progress_;
  double most_;
};

/// What the best checkpoint writes from the start symbol, as much as there is time for.
std::string final_sample(LoadedRun& best, const Remaining& remaining) {
  SampleConfig one = best.config().sample;
  one.num_samples = 1;
  std::string text;
  generate(*best.next_logits({}), best.model->vocab_size(), best.model->block_size(),
           {best.checkpoint.state.start_symbol}, one, 1337, [&](std::int64_t, std::int64_t id) {
             if (stopping_signal() != 0) throw Interrupted{};
             text += best.checkpoint.vocabulary.symbol(id);
             return remaining.fits(0);
           });
  return text;
}

std::optional<Baselines> baselines_in_time(const Corpus& corpus, std::int64_t block_size, const Remaining& remaining,
                                           const std::filesystem::path& run) {
  try {
    const Heartbeat heartbeat = remaining.heartbeat("measuring baselines", true);
    heartbeat(0);
    return compute_baselines(corpus, corpus.val(), {.length = block_size}, /*validation=*/true, heartbeat);
  } catch (const OutOfTime&) {
    log_note("max_seconds leaves no time for the baselines; they come with `chargpt eval " + run.string() + "`");
    return std::nullopt;
  }
}

/// What the run itself knows about its best checkpoint, if there is no time to measure it again.
nlohmann::ordered_json known_figures(const Trainer& trainer, const LoadedRun& best) {
  const RunState& state = best.checkpoint.state;
  const double loss = std::min(state.val_loss, state.averaged_val_loss);
  nlohmann::ordered_json json = {{"loss", nullptr}};
  if (std::isfinite(loss))
    json = {{"loss", loss}, {"bits_per_char", loss / std::log(2.0)}, {"perplexity", std::exp(loss)}};
  json.update({{"exact", trainer.config().config.eval.eval_iters == 0},
               {"split", "val"},
               {"block_size", best.model->block_size()}});
  return json;
}

std::string known_text(const nlohmann::ordered_json& json) {
  if (json["loss"].is_null()) return "this model, val: not measured\n";
  return "this model, val: " + format_loss(json["loss"]) + (json["exact"] ? "" : ", estimated from part of the split") +
         "\n";
}

struct Result {
  nlohmann::ordered_json json;
  std::string text;
};

Result result_of(const Trainer& trainer, LoadedRun& best, const std::filesystem::path& run,
                 const Remaining& remaining) {
  const Corpus& corpus = trainer.corpus();
  const double seconds = validations(best.config()) * trainer.pace().seconds_per_validation;
  if (!remaining.fits(seconds)) {
    log_note("max_seconds leaves no time for figures and baselines; they come with `chargpt eval " + run.string() +
             "`");
    const nlohmann::ordered_json json = known_figures(trainer, best);
    return {json, known_text(json)};
  }
  const Heartbeat heartbeat = remaining.heartbeat("evaluating", false);
  heartbeat(0);
  Figures figures = measure(best.scorer(), best.config().model, nullptr, best.config().data.units,
                            validation_of(corpus, best), heartbeat);
  figures.baselines = baselines_in_time(corpus, figures.block_size, remaining, run);
  return {to_json(figures), to_text(figures, terminal_columns(STDOUT_FILENO))};
}

void print(const Result& result, const std::string& sample, const std::filesystem::path& run, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json json = result.json;
    add_text(json, "sample", sample);
    return print_json(json);
  }
  print_text(result.text + "\nA sample (chargpt sample " + run.string() + " writes more):\n" + sample + "\n");
}

}  // namespace

ClosingWork work_after_a_run(const Config& config, const Corpus& corpus) {
  ClosingWork work{.memory = memory_of_result(config, corpus)};
  const double most = config.train.max_seconds;
  if (most == 0) return work;
  const double baselines = seconds_of_baselines(corpus);
  work.validations = validations(config);
  work.seconds = seconds_of_the_rest + (baselines <= most_for_baselines * most ? baselines : 0);
  return work;
}

void print_result(const Trainer& trainer, const std::filesystem::path& run, const TrainingArguments& arguments,
                  ProgressPrinter& progress) {
  const Remaining remaining(trainer, progress);
  try {
    const RunState& state = trainer.state();
    LoadedRun best = load_run(run.string(), "best", {.threads = state.threads});
    Result result = result_of(trainer, best, run, remaining);
    result.json["checkpoint"] = {{"step", best.checkpoint.state.step}, {"path", best.checkpoint.path.string()}};
    result.json["run"] = run.string();
    result.json["ended"] = enum_name(state.ended);
    result.json["seconds"] = state.seconds;
    write_file_atomically(run / "figures.json", json_text(result.json));
    const std::string sample = final_sample(best, remaining);
    progress.finish();
    print(result, sample, run, arguments.output.json);
  } catch (const Interrupted&) {
    progress.finish();
    log_note("the run is saved; `chargpt eval " + run.string() + "` gives its figures");
    throw Stopped{stopping_signal()};
  }
}

}  // namespace chargpt
