#include "cli/training/compare_output.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/quote.h"
#include "baseline/baseline.h"
#include "cli/print_text.h"
#include "cli/runs/run_page.h"
#include "experiment/comparison_report.h"
#include "experiment/target.h"
#include "page/page.h"
#include "report/log.h"

namespace chargpt {
namespace {

/// What counting reaches on the text of the comparison, to measure the rungs by.
std::vector<Counted> counted_on(const Corpus& corpus, std::int64_t block_size) {
  const Baselines baselines =
      compute_baselines(corpus, corpus.val(), {.length = block_size, .stride = 0}, /*held_out=*/true);
  if (baselines.counted == 0) return {};
  const std::string best = "counting " + std::to_string(baselines.ngram_order) + "-grams";
  return {{"counting pairs", "what a bigram can reach", baselines.bigram},
          {best, "the best order, of all orders up to 8", baselines.ngram},
          {best, "with no more than a window of " + std::to_string(block_size), baselines.ngram_in_windows}};
}

void print(const Table& table, bool markdown) {
  markdown ? print_text(table.markdown()) : print_table(table);
}

nlohmann::ordered_json json_of(const Comparison& comparison, const std::optional<LadderReport>& ladder) {
  nlohmann::ordered_json json = to_json(comparison);
  if (ladder) json["ladder"] = to_json(ladder->rungs, ladder->counted);
  return json;
}

/// Of each config one run, best config first, all with the same seed: the one with which the best config is best.
std::vector<std::filesystem::path> runs_of_one_seed(const Comparison& comparison) {
  const auto loss = [](const SeedRun& run) {
    return run.failure.empty() ? run.loss : std::numeric_limits<double>::infinity();
  };
  const std::vector<SeedRun>& best = comparison.results.front().runs.seeds;
  const auto number = std::ranges::min_element(best, {}, loss) - best.begin();
  std::vector<std::filesystem::path> runs;
  for (const ConfigResult& result : comparison.results)
    if (const SeedRun& run = result.runs.seeds[static_cast<std::size_t>(number)]; run.failure.empty())
      runs.push_back(run.run);
  return runs;
}

/// A model that is too large for a page is left out.
std::string page_of(const Comparison& comparison, const std::vector<std::filesystem::path>& runs) {
  PageModel model;
  model.run = runs.front().string();
  const nlohmann::ordered_json json = to_json(comparison);
  try {
    return page_of_runs(runs, model, &json);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage) throw;
    log_note("the page has no model: ", error.what());
  }
  return page_of_runs(runs, std::nullopt, &json);
}

}  // namespace

LadderReport ladder_report(const Comparison& comparison, const Corpus& corpus, std::int64_t block_size) {
  return {climb(comparison), counted_on(corpus, block_size)};
}

void print_comparison(const Comparison& comparison, ComparisonForm form, const std::optional<LadderReport>& ladder) {
  const bool markdown = form == ComparisonForm::markdown;
  const std::string sentence = verdict(comparison), blank = comparison.ended_at_target ? "" : "\n";
  if (form == ComparisonForm::json)
    print_json(json_of(comparison, ladder));
  else if (ladder)
    print(to_table(ladder->rungs, ladder->counted), markdown);
  else if (!comparison.ended_at_target)
    print(to_table(comparison), markdown);
  if (form != ComparisonForm::json && !ladder && !sentence.empty()) print_lines(blank + sentence + "\n");
  if (comparison.target && form != ComparisonForm::json) {
    if (!comparison.ended_at_target || !sentence.empty()) print_text("\n");
    print(target_table(comparison), markdown);
  }
  if (ladder)
    for (const std::string& remark : remarks(ladder->rungs)) log_note(remark);
  for (const std::string& note : table_notes(comparison)) log_note(note);
  for (const std::string& remark : ladder ? run_remarks(comparison) : remarks(comparison)) log_detail(remark);
}

void write_comparison_page(const Comparison& comparison, const std::filesystem::path& out) {
  const std::vector<std::filesystem::path> runs = runs_of_one_seed(comparison);
  if (runs.empty()) return log_note("no page: every run failed");
  const std::filesystem::path file = out / "compare.html";
  write_page(file, page_of(comparison, runs));
  log_note("wrote ", printable_path(file), ": open it in a browser");
}

}  // namespace chargpt
