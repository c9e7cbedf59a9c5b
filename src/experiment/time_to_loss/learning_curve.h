// Seconds to a target loss: what the metrics of several runs say, and how that reads as JSON and as a table. Pure
// functions over rows; trains nothing.
//
// The clock of a run is its own process's: from the process's start, with loading, evaluations, samples and saving, as
// metrics.jsonl has it; what starting the process took is added. A loss is known only when it is evaluated, so the
// target is reached at the first evaluation that finds it, and that evaluation's own time is in the figure: a finer
// eval.eval_interval finds it sooner and pays for more evaluations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"
#include "report/table.h"

namespace chargpt {

/// One evaluation of the whole validation split.
struct CurvePoint {
  std::int64_t step = 0;
  double loss = 0;              ///< nats per token; of trained or averaged weights, whichever is better
  double seconds = 0;           ///< from process start
  double training_seconds = 0;  ///< of these, in steps
};

/// What one run's metrics.jsonl says, as far as it is written.
struct LearningCurve {
  std::int64_t parameters = 0;
  bool leaks = false;
  std::vector<CurvePoint> points = {};
};

/// Takes in whole lines of metrics.jsonl; rows of other kinds are passed over. Error data for a line that is no JSON
/// object, usage for an evaluation that is an estimate.
void append_rows(LearningCurve& curve, std::string_view lines);

/// The first evaluation at or under `target`; none where there is none yet.
std::optional<CurvePoint> first_at(const LearningCurve& curve, double target);

struct TimedRun {
  std::int64_t seed = 0;
  std::filesystem::path run = {};
  double launch_seconds = 0;  ///< from asking for the process to its start
  LearningCurve curve = {};
  std::optional<CurvePoint> reached = {};
  std::string failure = {};  ///< why it ended before its time (it diverged); else empty
  /// From asking for the process to the target's evaluation.
  std::optional<double> seconds() const;
};

struct TimedConfig {
  std::string config;
  std::vector<TimedRun> runs = {};
  std::int64_t times_reached() const;
};

/// A figure of each seed's run, summed up. How times of runs are distributed is not known, so there is no interval: the
/// fastest and the slowest are what was seen.
struct OverSeeds {
  double mean = 0, fastest = 0, slowest = 0;
};
OverSeeds over_seeds(const std::vector<double>& values);

/// Absent unless every run reached the target: the mean of those that did would flatter.
std::optional<OverSeeds> seconds_to_target(const TimedConfig& config);
std::optional<OverSeeds> training_seconds_to_target(const TimedConfig& config);

/// {"target","results":[{"config","params","runs":[{"seed","reached","seconds","launch_seconds","training_seconds",
/// "step","best_loss","run","curve":[{"seconds","training_seconds","step","loss"}]}],"reached","seconds":{"mean","fastest","slowest"},
/// "training_seconds"}]}, soonest first, those that never reached it last.
nlohmann::ordered_json to_json(const std::vector<TimedConfig>& configs, double target);
Table to_table(const std::vector<TimedConfig>& configs);
/// Loss against seconds, one curve a run, those of a config alike; without the evaluations of untrained weights, which
/// would press all others together.
Chart to_chart(const std::vector<TimedConfig>& configs, double target);

/// Soonest first; then by how many runs reached the target.
void sort_by_time(std::vector<TimedConfig>& configs);

}  // namespace chargpt
