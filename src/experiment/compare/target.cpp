#include "experiment/compare/target.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/files.h"
#include "experiment/time_to_loss/learning_curve.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr std::uint64_t largest_metrics = std::uint64_t{1} << 30;

std::optional<ReachedTarget> reached_by(const SeedRun& run, double target) {
  LearningCurve curve;
  append_rows(curve, read_regular_file(run.run / "metrics.jsonl", largest_metrics));
  const std::optional<CurvePoint> point = first_at(curve, target);
  if (!point) return std::nullopt;
  return ReachedTarget{.step = point->step, .seconds = point->seconds};
}

std::vector<std::string> row_of(const ConfigResult& result) {
  const std::vector<SeedRun>& runs = result.runs.seeds;
  double updates = 0, seconds = 0;
  std::int64_t reached = 0;
  bool shared = false;
  for (const SeedRun& run : runs) {
    shared |= run.jobs > 1;
    if (!run.reached) continue;
    ++reached;
    updates += static_cast<double>(run.reached->step) / static_cast<double>(runs.size());
    seconds += run.reached->seconds / static_cast<double>(runs.size());
  }
  std::vector<std::string> row = {result.runs.config + (result.runs.leaks ? " (leaks)" : ""),
                                  std::to_string(reached) + " of " + std::to_string(runs.size())};
  if (reached == std::ssize(runs)) {
    row.push_back(format_count(std::llround(updates)));
    row.push_back(format_fixed(seconds, 1) + (shared ? "*" : ""));
  }
  return row;
}

}  // namespace

void find_target(Comparison& comparison, double target) {
  comparison.target = target;
  for (ConfigResult& result : comparison.results)
    for (SeedRun& run : result.runs.seeds)
      if (run.failure.empty()) run.reached = reached_by(run, target);
}

Table target_table(const Comparison& comparison) {
  Table table({"config", "reached " + format_fixed(comparison.target.value_or(0), 4), "updates", "seconds"});
  for (const ConfigResult& result : comparison.results) table.add(row_of(result));
  return table;
}

}  // namespace chargpt
