#include "cli/training/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/paths.h"
#include "cli/runs/joined_runs.h"
#include "cli/runs/run_text.h"
#include "evaluate/split_loss.h"
#include "experiment/trained_runs.h"
#include "inference/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "run/kept_files.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "train/run_length.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// The text of the first run, which the others must share.
struct CommonText {
  std::string run;
  DataConfig data;
  Corpus corpus;
};

void refuse_another_text(const CommonText& common, const std::string& run, const Checkpoint& checkpoint) {
  const KnownText known{common.data, common.corpus.vocabulary(), common.corpus.fingerprint()};
  const std::string difference = text_difference(common.run, known, run, known_text(checkpoint));
  if (!difference.empty())
    throw Error(ExitCode::usage, difference,
                "; losses compare only on one text, in the same units and split; chargpt eval RUN --text FILE scores a "
                "run on another one");
}

/// The whole run's time and end; of the weights scored, only the step.
SeedRun told_by(const RunState& scored, const RunState& last, const Config& config) {
  SeedRun seed{.seed = config.train.seed,
               .seconds = last.seconds,
               .step = scored.step,
               .steps = last.step,
               .ended = last.ended,
               .scored = ScoredAt::best};
  if (last.training_seconds > 0)
    seed.tokens_per_second = static_cast<double>(last.step * tokens_per_step(config)) / last.training_seconds;
  return seed;
}

TrainedRun scored_run(const std::string& name, const TrainingArguments& arguments, std::optional<CommonText>& common) {
  LoadedRun run = load_run(name, "", {.machine = arguments.device});
  const Config& config = run.config();
  if (!common) {
    common = {name, config.data, text_of_run(run, config.data, arguments.output)};
    log_notices(common->corpus);
  }
  refuse_another_text(*common, name, run.checkpoint);
  TrainedRun trained{.name = name,
                     .config = run.checkpoint.config,
                     .params = run.checkpoint.state.parameters,
                     .leaks = leaks(config.model),
                     .seed = told_by(run.checkpoint.state, load_checkpoint(run.folder, "last").state, config)};
  SplitLoss loss = split_loss(run.predictor(), common->corpus.val(), config.model.block_size);
  if (!std::isfinite(loss.mean))
    throw Error(ExitCode::diverged, run.checkpoint.path.string(), " has no finite loss: its weights have diverged");
  trained.seed.loss = loss.mean;
  trained.seed.losses = std::move(loss.losses);
  trained.seed.run = run.folder;
  if (config.data.test_fraction > 0) {
    trained.seed.test_scores = count_test_score(run.folder);
    trained.seed.test_loss = split_loss(run.predictor(), common->corpus.test(), config.model.block_size).mean;
  }
  log_note(name, ", step ", format_count(trained.seed.step), ": ", format_loss(trained.seed.loss));
  return trained;
}

void refuse_twice(const std::vector<std::string>& runs) {
  std::set<fs::path> seen;
  for (const std::string& run : runs)
    if (std::error_code ignored; !seen.insert(fs::weakly_canonical(run_place(run, "").run, ignored)).second)
      throw Error(ExitCode::usage, run, " is given twice; give each run once");
}

}  // namespace

bool names_run(const std::string& word) {
  return std::ranges::count(presets(), word, &Preset::name) == 0 && is_folder(word) && is_run(run_place(word, "").run);
}

Comparison compare_runs(const std::vector<std::string>& runs, const TrainingArguments& arguments) {
  refuse_twice(runs);
  std::optional<CommonText> common;
  std::vector<TrainedRun> trained;
  for (const std::string& run : runs) trained.push_back(scored_run(run, arguments, common));
  std::vector<std::string> remarks;
  std::vector<ConfigRuns> configs = group_by_config(std::move(trained), remarks);
  Comparison comparison = rank_configs(std::move(configs), common->corpus.val());
  comparison.notes = std::move(remarks);
  comparison.trained_before = true;
  return comparison;
}

}  // namespace chargpt
