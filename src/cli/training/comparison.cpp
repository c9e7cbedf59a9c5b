#include "cli/training/comparison.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "cli/output.h"
#include "cli/runs/loaded_run.h"
#include "cli/runs/run_text.h"
#include "compare/comparison_report.h"
#include "evaluate/baseline.h"
#include "evaluate/split_loss.h"
#include "network/model_types.h"
#include "report/format.h"
#include "report/log.h"
#include "run/checkpoints.h"
#include "run/run_files.h"
#include "run/run_folder.h"
#include "train/schedule.h"

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

/// Before any run is scored, which counts where that is its test split.
CommonText common_text(const std::vector<std::string>& runs, const OutputArguments& output) {
  std::optional<CommonText> common;
  for (const std::string& name : runs) {
    const Checkpoint checkpoint = load_checkpoint(name, "best");
    const DataConfig& data = checkpoint.config.config.data;
    if (!common) common = {name, data, text_of_run(checkpoint, data, run_place(name, "").run, output, /*named=*/false)};
    refuse_another_text(*common, name, checkpoint);
  }
  log_notices(common->corpus);
  return *std::move(common);
}

/// The whole run's time and end; of the weights scored, only the step.
TrainedRun scored_run(const std::string& name, const TrainingArguments& arguments, const Corpus& corpus) {
  LoadedRun run = load_run(name, "", {.machine = arguments.device});
  const Config& config = run.config();
  const RunState &scored = run.checkpoint.state, last = load_checkpoint(run.folder, "last").state;
  SplitLoss loss = split_loss(run.predictor(), corpus.val(), config.model.block_size);
  if (!std::isfinite(loss.mean))
    throw Error(ExitCode::diverged, run.checkpoint.path.string(), " has no finite loss: its weights have diverged");
  TrainedRun trained{.name = name,
                     .config = run.checkpoint.config,
                     .params = scored.parameters,
                     .leaks = leaks(config.model),
                     .seed = {.seed = config.train.seed,
                              .loss = loss.mean,
                              .seconds = last.seconds,
                              .tokens_per_second = training_speed(config, last.step, last.training_seconds),
                              .step = scored.step,
                              .steps = last.step,
                              .ended = last.ended,
                              .scored = run_place(name, "").checkpoint.empty() ? ScoredAt::best : ScoredAt::named,
                              .run = run.folder,
                              .losses = std::move(loss.losses)}};
  if (config.data.test_fraction > 0) {
    trained.seed.test_loss = split_loss(run.predictor(), corpus.test(), config.model.block_size).mean;
  }
  log_note(name, ", step ", format_count(trained.seed.step), ": ", format_loss(trained.seed.loss));
  return trained;
}

/// What counting reaches on the text of the comparison, to measure the rungs by.
std::vector<Counted> counted_on(const Corpus& corpus, std::int64_t block_size) {
  const Baselines baselines = compute_baselines(corpus, corpus.val(), {.length = block_size, .stride = 0});
  const std::string best = "counting " + std::to_string(baselines.ngram_order) + "-grams";
  return {{"counting pairs", "what a bigram can reach", baselines.bigram},
          {best, "the best order, of all orders up to 8", baselines.ngram},
          {best, "with no more than a window of " + std::to_string(block_size), baselines.ngram_in_windows}};
}

void print(const Table& table, bool markdown) {
  markdown ? print_text(table.markdown()) : print_table(table);
}

}  // namespace

bool names_run(const std::string& word) {
  return std::ranges::count(presets(), word, &Preset::name) == 0 &&
         (is_checkpoint_file(word) || (is_folder(word) && is_run(word)));
}

Comparison compare_runs(const std::vector<std::string>& runs, const TrainingArguments& arguments) {
  refuse_twice(runs);
  const CommonText common = common_text(runs, arguments.output);
  std::vector<TrainedRun> trained;
  for (const std::string& run : runs) trained.push_back(scored_run(run, arguments, common.corpus));
  std::vector<std::string> remarks;
  for (const std::string& run : runs)
    if (const std::string line = kept_caution(run); !line.empty()) remarks.push_back(run + ": " + line);
  std::vector<ConfigRuns> configs = group_by_config(std::move(trained), remarks);
  Comparison comparison = rank_configs(std::move(configs), common.corpus.val());
  comparison.notes = std::move(remarks);
  comparison.trained_before = true;
  return comparison;
}

LadderReport ladder_report(const Comparison& comparison, const Corpus& corpus, std::int64_t block_size) {
  return {climb(comparison), counted_on(corpus, block_size)};
}

nlohmann::ordered_json to_json(const Comparison& comparison, const std::optional<LadderReport>& ladder) {
  nlohmann::ordered_json json = to_json(comparison);
  if (ladder) json["ladder"] = to_json(ladder->rungs, ladder->counted);
  return json;
}

void print_comparison(const Comparison& comparison, ComparisonForm form, const std::optional<LadderReport>& ladder) {
  const bool markdown = form == ComparisonForm::markdown;
  const std::string sentence = verdict(comparison);
  if (form == ComparisonForm::json)
    print_json(to_json(comparison, ladder));
  else if (ladder)
    print(to_table(ladder->rungs, ladder->counted), markdown);
  else
    print(to_table(comparison), markdown);
  if (form != ComparisonForm::json && !ladder && !sentence.empty()) print_lines("\n" + sentence + "\n");
  if (comparison.target && form != ComparisonForm::json) {
    print_text("\n");
    print(target_table(comparison), markdown);
  }
  if (ladder)
    for (const std::string& remark : remarks(ladder->rungs)) log_note(remark);
  for (const std::string& note : table_notes(comparison)) log_note(note);
  for (const std::string& remark : ladder ? run_remarks(comparison) : remarks(comparison)) log_detail(remark);
}

}  // namespace chargpt
