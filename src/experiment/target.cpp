#include "experiment/target.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "report/files/metrics.h"
#include "report/format.h"

namespace chargpt {
namespace {

/// Nats per token of an evaluation, of trained or averaged weights, whichever is better. Error usage for an estimate.
double whole_split_loss(const nlohmann::ordered_json& evaluation) {
  if (!evaluation.value("exact", true))
    throw Error(ExitCode::usage,
                "an evaluation of a few windows cannot tell when the whole split's loss is reached; set "
                "eval.eval_iters = 0, and train.max_seconds, where it is given, long enough for whole evaluations");
  return std::fmin(number_in(evaluation, "val_loss"), number_in(evaluation, "averaged_val_loss"));
}

/// Over all seeds of a config.
struct MeanReached {
  double steps = 0, seconds = 0;
};

/// None where a seed did not reach it: the mean of those that did would flatter.
std::optional<MeanReached> mean_reached(const ConfigRuns& runs) {
  MeanReached mean;
  const auto count = static_cast<double>(runs.seeds.size());
  for (const SeedRun& run : runs.seeds) {
    if (!run.reached) return std::nullopt;
    mean.steps += static_cast<double>(run.reached->step) / count;
    mean.seconds += run.reached->seconds / count;
  }
  return mean;
}

std::vector<std::string> row_of(const ConfigRuns& runs) {
  const auto reached = std::ranges::count_if(runs.seeds, [](const SeedRun& run) { return run.reached.has_value(); });
  const bool shared = std::ranges::any_of(runs.seeds, [](const SeedRun& run) { return run.jobs > 1; });
  std::vector<std::string> row = {runs.config + (runs.leaks ? " (leaks)" : ""),
                                  std::to_string(reached) + " of " + std::to_string(runs.seeds.size())};
  if (const auto mean = mean_reached(runs)) {
    row.push_back(format_count(std::llround(mean->steps)));
    row.push_back(format_fixed(mean->seconds, 1) + (shared ? "*" : ""));
  }
  return row;
}

}  // namespace

std::optional<ReachedTarget> reached_by(const SeedRun& run, double target) {
  std::optional<ReachedTarget> reached;
  const std::filesystem::path path = run.run / "metrics.jsonl";
  MetricsReader reader(path);
  try {
    reader.read([&] { reached.reset(); },
                [&](const nlohmann::ordered_json& row) {
                  if (!reached && row["kind"] == "eval" && whole_split_loss(row) <= target)
                    reached = {.step = row.value("step", std::int64_t{0}), .seconds = number_in(row, "seconds")};
                });
  } catch (const nlohmann::json::exception&) {
    throw Error(
        ExitCode::data, path,
        " has an evaluation whose step is not a number, or whose exact is not true or false; leave out --target, "
        "or train that run again");
  }
  if (const std::string line = reader.complaint(); !line.empty()) throw Error(ExitCode::data, line);
  return reached;
}

void find_target(Comparison& comparison, double target) {
  comparison.target = target;
  for (ConfigResult& result : comparison.results)
    for (SeedRun& run : result.runs.seeds)
      if (run.failure.empty()) run.reached = reached_by(run, target);
}

void rank_by_target(Comparison& comparison) {
  comparison.ended_at_target = true;
  comparison.pairs = 0;
  const auto steps = [](const ConfigResult& result) {
    const auto mean = mean_reached(result.runs);
    return mean && !result.runs.leaks ? mean->steps : std::numeric_limits<double>::infinity();
  };
  std::ranges::stable_sort(comparison.results, {}, steps);
  for (ConfigResult& result : comparison.results) {
    result.rank = 0;
    result.versus_best.reset();
  }
}

std::string target_verdict(const Comparison& comparison) {
  std::string text;
  for (const ConfigResult& result : comparison.results) {
    const auto mean = mean_reached(result.runs);
    if (!mean || result.runs.leaks) break;
    const std::string after = " after " + format_count(std::llround(mean->steps)) + " steps";
    if (!text.empty()) return text + ", " + result.runs.config + after;
    text = result.runs.config + " reached " + format_fixed(comparison.target.value_or(0), 4) + after;
  }
  return text;
}

Table target_table(const Comparison& comparison) {
  Table table({"config", "reached " + format_fixed(comparison.target.value_or(0), 4), "steps", "seconds"});
  for (const ConfigResult& result : comparison.results) table.add(row_of(result.runs));
  return table;
}

}  // namespace chargpt
