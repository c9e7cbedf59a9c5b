#include "experiment/time_to_loss/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

double number_or_nan(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void append_row(LearningCurve& curve, const nlohmann::json& row) {
  const std::string kind = row.value("kind", "");
  if (kind == "plan") {
    curve.parameters = row.value("parameters", std::int64_t{0});
    curve.leaks = row.value("leaks", false);
  } else if (kind == "eval") {
    if (!row.value("exact", true))
      throw Error(ExitCode::usage,
                  "an evaluation of a few windows cannot tell when the whole split's loss is reached; set "
                  "eval.eval_iters = 0, and train.max_seconds, where it is given, long enough for whole evaluations");
    const double trained = number_or_nan(row, "val_loss"), averaged = number_or_nan(row, "averaged_val_loss");
    curve.points.push_back({.step = row.value("step", std::int64_t{0}),
                            .loss = std::fmin(trained, averaged),  // the one that is a number, where only one is
                            .seconds = number_or_nan(row, "seconds"),
                            .training_seconds = number_or_nan(row, "training_seconds")});
  }
}

std::optional<double> best_loss(const TimedRun& run) {
  std::optional<double> best;
  for (const CurvePoint& point : run.curve.points)
    if (std::isfinite(point.loss)) best = std::min(best.value_or(point.loss), point.loss);
  return best;
}

std::optional<double> best_loss(const TimedConfig& config) {
  std::optional<double> best;
  for (const TimedRun& run : config.runs)
    if (const auto loss = best_loss(run)) best = std::min(best.value_or(*loss), *loss);
  return best;
}

std::int64_t parameters_of(const TimedConfig& config) {
  return config.runs.empty() ? 0 : config.runs.front().curve.parameters;
}

/// `figure` of each run, where all have reached the target.
template <class Figure>
std::optional<OverSeeds> mean_if_all_reached(const TimedConfig& config, const Figure& figure) {
  if (config.runs.empty() || config.times_reached() < std::ssize(config.runs)) return std::nullopt;
  std::vector<double> values;
  for (const TimedRun& run : config.runs) values.push_back(figure(run));
  return over_seeds(values);
}

Json json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json json_of(const std::optional<OverSeeds>& mean) {
  if (!mean) return nullptr;
  return {{"mean", mean->mean}, {"fastest", mean->fastest}, {"slowest", mean->slowest}};
}

Json json_of(const LearningCurve& curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve.points)
    points.push_back({{"seconds", json_of(point.seconds)},
                      {"training_seconds", json_of(point.training_seconds)},
                      {"step", point.step},
                      {"loss", json_of(point.loss)}});
  return points;
}

Json json_of(const TimedRun& run) {
  Json json = {{"seed", run.seed},
               {"reached", run.reached.has_value()},
               {"seconds", json_of(run.seconds())},
               {"launch_seconds", run.launch_seconds},
               {"training_seconds", nullptr},
               {"step", nullptr},
               {"best_loss", json_of(best_loss(run))},
               {"run", run.run.string()}};
  if (run.reached) {
    json["training_seconds"] = json_of(run.reached->training_seconds);
    json["step"] = run.reached->step;
  }
  if (!run.failure.empty()) json["failure"] = run.failure;
  json["curve"] = json_of(run.curve);
  return json;
}

Json json_of(const TimedConfig& config) {
  Json runs = Json::array();
  for (const TimedRun& run : config.runs) runs.push_back(json_of(run));
  return {{"config", config.config},
          {"params", parameters_of(config)},
          {"reached", config.times_reached()},
          {"seconds", json_of(seconds_to_target(config))},
          {"training_seconds", json_of(training_seconds_to_target(config))},
          {"best_loss", json_of(best_loss(config))},
          {"runs", runs}};
}

std::string mean_cell(const std::optional<OverSeeds>& mean) {
  return mean ? format_fixed(mean->mean, 2) : "";
}

std::string range_cell(const std::optional<OverSeeds>& seeds) {
  return seeds ? format_fixed(seeds->fastest, 2) + " to " + format_fixed(seeds->slowest, 2) : "";
}

std::string steps_cell(const TimedConfig& config) {
  const auto steps =
      mean_if_all_reached(config, [](const TimedRun& run) { return static_cast<double>(run.reached->step); });
  return steps ? format_fixed(steps->mean, 0) : "";
}

}  // namespace

void append_rows(LearningCurve& curve, std::string_view lines) {
  for (std::size_t begin = 0, end = 0; (end = lines.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    const std::string_view line = lines.substr(begin, end - begin);
    const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!row.is_object()) throw Error(ExitCode::data, "a line of metrics.jsonl is no JSON object: " + printable(line));
    append_row(curve, row);
  }
}

std::optional<CurvePoint> first_at(const LearningCurve& curve, double target) {
  for (const CurvePoint& point : curve.points)
    if (point.loss <= target) return point;
  return std::nullopt;
}

std::optional<double> TimedRun::seconds() const {
  if (!reached) return std::nullopt;
  return launch_seconds + reached->seconds;
}

std::int64_t TimedConfig::times_reached() const {
  return std::count_if(runs.begin(), runs.end(), [](const TimedRun& run) { return run.reached.has_value(); });
}

OverSeeds over_seeds(const std::vector<double>& values) {
  const auto [fastest, slowest] = std::minmax_element(values.begin(), values.end());
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()),
          .fastest = *fastest,
          .slowest = *slowest};
}

std::optional<OverSeeds> seconds_to_target(const TimedConfig& config) {
  return mean_if_all_reached(config, [](const TimedRun& run) { return *run.seconds(); });
}

std::optional<OverSeeds> training_seconds_to_target(const TimedConfig& config) {
  return mean_if_all_reached(config, [](const TimedRun& run) { return run.reached->training_seconds; });
}

void sort_by_time(std::vector<TimedConfig>& configs) {
  const auto key = [](const TimedConfig& config) {
    const auto seconds = seconds_to_target(config);
    return std::pair(seconds ? seconds->mean : std::numeric_limits<double>::infinity(), -config.times_reached());
  };
  std::stable_sort(configs.begin(), configs.end(),
                   [&](const TimedConfig& a, const TimedConfig& b) { return key(a) < key(b); });
}

nlohmann::ordered_json to_json(const std::vector<TimedConfig>& configs, double target) {
  Json results = Json::array();
  for (const TimedConfig& config : configs) results.push_back(json_of(config));
  return {{"target", target}, {"results", results}};
}

Table to_table(const std::vector<TimedConfig>& configs) {
  Table table({"config", "reached", "seconds", "fastest to slowest", "training", "fastest to slowest", "steps",
               "best loss", "parameters"});
  for (const TimedConfig& config : configs) {
    const auto seconds = seconds_to_target(config), training = training_seconds_to_target(config);
    const auto best = best_loss(config);
    table.add({config.config, std::to_string(config.times_reached()) + " of " + std::to_string(config.runs.size()),
               mean_cell(seconds), range_cell(seconds), mean_cell(training), range_cell(training), steps_cell(config),
               best ? format_fixed(*best, 4) : "", format_count(parameters_of(config))});
  }
  return table;
}

Chart to_chart(const std::vector<TimedConfig>& configs, double target) {
  Chart chart{.title = "Validation loss against time",
              .x_label = "seconds from process start",
              .y_label = "nats per character, whole validation split",
              .log_x = true,
              .curves = {},
              .target = target};
  for (const TimedConfig& config : configs)
    for (const TimedRun& run : config.runs) {
      Curve curve{.name = config.config, .points = {}};
      for (const CurvePoint& point : run.curve.points)
        if (point.step > 0) curve.points.emplace_back(run.launch_seconds + point.seconds, point.loss);
      chart.curves.push_back(std::move(curve));
    }
  return chart;
}

}  // namespace chargpt
