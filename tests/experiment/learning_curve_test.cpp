// Seconds to a target, from metrics and figures written by hand.
#include "experiment/time_to_loss/learning_curve.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "test.h"

namespace chargpt {
namespace {

std::string eval_row(std::int64_t step, double loss, double seconds) {
  return nlohmann::ordered_json({{"kind", "eval"},
                                 {"step", step},
                                 {"val_loss", loss},
                                 {"exact", true},
                                 {"seconds", seconds},
                                 {"training_seconds", seconds - 0.5}})
             .dump() +
         "\n";
}

TimedRun run_of(std::int64_t seed, const std::string& rows, double target = 2.0) {
  TimedRun run{.seed = seed, .run = "out/a-seed" + std::to_string(seed), .launch_seconds = 0.25};
  append_rows(run.curve, R"({"kind":"plan","parameters":1234,"leaks":false})"
                         "\n" +
                             rows);
  run.reached = first_at(run.curve, target);
  return run;
}

/// Reached after 10, 12 and 14 s on its own clock.
TimedConfig reached(const std::string& name) {
  TimedConfig config{.config = name};
  for (const int seed : {1, 2, 3})
    config.runs.push_back(run_of(seed, eval_row(0, 4.0, 1) + eval_row(100, 1.9, 8 + 2 * seed)));
  return config;
}

}  // namespace

TEST_CASE("the first evaluation at or under the target counts, on the run's own clock and from its launch") {
  const TimedRun run =
      run_of(1, eval_row(0, 4.2, 1) + eval_row(10, 2.5, 3) + eval_row(20, 2.0, 5) + eval_row(30, 1.5, 7));
  REQUIRE(run.reached);
  CHECK(run.reached->step == 20);
  CHECK(run.reached->training_seconds == 4.5);
  CHECK(run.seconds() == 5.25);
  CHECK(run.curve.points.size() == 4);
  CHECK(run.curve.parameters == 1234);
}

TEST_CASE("a run that never reaches the target has no seconds") {
  const TimedRun run =
      run_of(1, eval_row(0, 4.2, 1) + R"({"kind":"eval","step":5,"val_loss":null,"seconds":2})" + "\n");
  CHECK_FALSE(run.reached);
  CHECK_FALSE(run.seconds());
}

TEST_CASE("an evaluation of a few windows and a line that is no row are refused") {
  LearningCurve curve;
  CHECK_THROWS_AS(append_rows(curve, R"({"kind":"eval","step":1,"val_loss":1.0,"exact":false})"
                                     "\n"),
                  Error);
  CHECK_THROWS_AS(append_rows(curve, "half a ro\n"), Error);
  append_rows(curve, R"({"kind":"train","step":1,"loss":1.0})"
                     "\n");
  CHECK(curve.points.empty());
}

TEST_CASE("times over seeds are a mean, the fastest and the slowest") {
  const OverSeeds times = over_seeds({5.88, 4.64});
  CHECK(times.mean == Approx(5.26));
  CHECK(times.fastest == 4.64);
  CHECK(times.slowest == 5.88);
}

TEST_CASE("a config's mean is of all its runs or there is none") {
  TimedConfig config = reached("a");
  CHECK(seconds_to_target(config)->mean == 12.25);
  CHECK(training_seconds_to_target(config)->mean == 11.5);
  config.runs.push_back(run_of(4, eval_row(0, 4.0, 1)));
  CHECK(config.times_reached() == 3);
  CHECK_FALSE(seconds_to_target(config));
}

TEST_CASE("the soonest is listed first, what was never reached last, with what it did reach") {
  TimedConfig never{.config = "never", .runs = {run_of(1, eval_row(0, 4.0, 1) + eval_row(9, 2.5, 2))}};
  TimedConfig late = reached("late");
  for (TimedRun& run : late.runs) run.launch_seconds = 100;
  std::vector<TimedConfig> configs{never, late, reached("soon")};
  sort_by_time(configs);
  CHECK(configs[0].config == "soon");
  CHECK(configs[2].config == "never");

  const nlohmann::ordered_json json = to_json(configs, 2.0);
  CHECK(json["target"] == 2.0);
  const auto& soon = json["results"][0];
  CHECK(soon["params"] == 1234);
  CHECK(soon["seconds"]["mean"] == 12.25);
  CHECK(soon["seconds"]["fastest"].get<double>() <= 12.25);
  CHECK(soon["seconds"]["slowest"].get<double>() >= 12.25);
  CHECK_FALSE(soon["seconds"].contains("ci95"));
  CHECK(soon["runs"][0]["curve"][1].dump() == R"({"seconds":10.0,"training_seconds":9.5,"step":100,"loss":1.9})");
  CHECK(soon["runs"][0]["launch_seconds"] == 0.25);
  const auto& last = json["results"][2];
  CHECK(last["reached"] == 0);
  CHECK(last["seconds"].is_null());
  CHECK(last["best_loss"] == 2.5);
  CHECK(last["runs"][0]["reached"] == false);

  const std::string table = to_table(configs).text();
  CHECK(table.find("3 of 3") < table.find("0 of 1"));
  CHECK(table.find("2.5000") != std::string::npos);
}

TEST_CASE("the chart has a curve for each run, with the time its start took and without untrained weights") {
  const Chart chart = to_chart({reached("a")}, 2.0);
  CHECK(chart.target == 2.0);
  CHECK(chart.curves.size() == 3);
  CHECK(chart.curves[0].name == "a");
  CHECK(chart.curves[0].points.front() == std::pair(10.25, 1.9));
}

}  // namespace chargpt
