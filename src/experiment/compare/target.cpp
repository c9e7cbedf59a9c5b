#include "experiment/compare/target.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr std::uint64_t largest_metrics = std::uint64_t{1} << 30;

double number_or_nan(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// Nats per token of an evaluation, of trained or averaged weights, whichever is better. Error usage for an estimate.
double whole_split_loss(const nlohmann::json& evaluation) {
  if (!evaluation.value("exact", true))
    throw Error(ExitCode::usage,
                "an evaluation of a few windows cannot tell when the whole split's loss is reached; set "
                "eval.eval_iters = 0, and train.max_seconds, where it is given, long enough for whole evaluations");
  return std::fmin(number_or_nan(evaluation, "val_loss"), number_or_nan(evaluation, "averaged_val_loss"));
}

std::optional<ReachedTarget> reached_by(const SeedRun& run, double target) {
  std::istringstream lines(read_regular_file(run.run / "metrics.jsonl", largest_metrics));
  for (std::string line; std::getline(lines, line) && !lines.eof();) {  // a last line without its end is being written
    const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object()) throw Error(ExitCode::data, "a line of metrics.jsonl is no JSON object: " + printable(line));
    if (row.value("kind", "") == "eval" && whole_split_loss(row) <= target)
      return ReachedTarget{.step = row.value("step", std::int64_t{0}), .seconds = number_or_nan(row, "seconds")};
  }
  return std::nullopt;
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
