// When runs first had a loss at or under a target, as their metrics.jsonl has it, and where they end at it.
#include "base/error.h"
#include "base/files.h"
#include "bench.h"
#include "experiment/comparison_report.h"
#include "report/files/metrics.h"

using namespace chargpt;

namespace {

const std::string rows =
    R"({"kind":"plan","parameters":1234}
{"kind":"eval","step":0,"val_loss":4.2,"seconds":0.5}
{"kind":"train","step":10,"loss":1.0}
{"kind":"eval","step":10,"val_loss":2.1,"averaged_val_loss":2.5,"seconds":3.0}
{"kind":"eval","step":20,"val_loss":2.05,"averaged_val_loss":1.9,"seconds":5.0}
{"kind":"eval","step":30,"val_loss":1.8,"seconds":7.0}
)";

/// When a run of these metrics had a loss of 2.
std::optional<ReachedTarget> reached(const std::string& metrics) {
  const TestFolder folder;
  write_file_atomically(folder.path() / "metrics.jsonl", metrics);
  Comparison comparison;
  comparison.results.emplace_back().runs.seeds.emplace_back().run = folder.path();
  find_target(comparison, 2);
  return comparison.results[0].runs.seeds[0].reached;
}

}  // namespace

TEST_CASE("the first evaluation at or under the target counts, of trained or averaged weights") {
  const auto found = reached(rows);
  REQUIRE(found);
  CHECK(found->step == 20);
  CHECK(found->seconds == 5);
}

TEST_CASE("a run that never reaches the target, or whose line is still being written, has no time") {
  CHECK_FALSE(reached(R"({"kind":"eval","step":10,"val_loss":2.1,"seconds":3.0})"
                      "\n"));
  CHECK_FALSE(reached(R"({"kind":"eval","step":10,"val_loss":1.1,"seconds":3.0})"));
}

TEST_CASE_METHOD(TestFolder, "a run that failed has not reached the target, whatever it was evaluated at before") {
  write("metrics.jsonl", rows);
  Comparison comparison;
  SeedRun& run = comparison.results.emplace_back().runs.seeds.emplace_back();
  run.run = path();
  run.failure = Error(ExitCode::diverged, "training diverged");
  find_target(comparison, 2);
  CHECK_FALSE(run.reached);
}

TEST_CASE("an evaluation of a few windows and a line that is no row are refused") {
  CHECK_THROWS_WITH(reached(R"({"kind":"eval","step":1,"val_loss":1.0,"exact":false})"
                            "\n"),
                    Catch::Contains("a few windows cannot tell"));
  for (const char* row :
       {R"({"kind":"eval","step":"ten","val_loss":1.0})", R"({"kind":"eval","val_loss":1.0,"exact":"no"})"})
    CHECK_THROWS_WITH(reached(row + std::string("\n")),
                      Catch::Contains("metrics.jsonl has an evaluation whose step is not"));
  CHECK_THROWS_WITH(reached("half a ro\n"), Catch::Contains("skipped 1 malformed line (first: line 1)"));
}

TEST_CASE("steps and seconds to the target are means over the seeds") {
  Comparison comparison{.target = 2};
  ConfigRuns& runs = comparison.results.emplace_back().runs;
  runs.config = "a";
  runs.seeds = {{.seed = 1, .reached = ReachedTarget{10, 3}}, {.seed = 2, .reached = ReachedTarget{20, 6}}};
  CHECK(target_table(comparison).text() ==
        "config  reached 2.0000  steps  seconds\n"
        "a               2 of 2     15      4.5\n");
}

TEST_CASE("a model that sees its own targets comes last, however soon it reached the target, and in no verdict") {
  Comparison comparison{.pairs = 1, .target = 2};
  const ConfigRuns leaking{.config = "leaking", .leaks = true, .seeds = {{.seed = 1, .reached = ReachedTarget{10, 3}}}};
  const ConfigRuns honest{.config = "honest", .seeds = {{.seed = 1, .reached = ReachedTarget{20, 6}}}};
  for (const ConfigRuns& runs : {leaking, honest}) comparison.results.emplace_back().runs = runs;
  rank_by_target(comparison);
  CHECK(comparison.results[0].runs.config == "honest");
  CHECK(verdict(comparison) == "honest reached 2.0000 after 20 steps");
  CHECK(comparison.pairs == 0);  // no losses are compared
}

TEST_CASE_METHOD(Bench, "a run ends where its averaged weights have reached the target and the trained ones have not") {
  ResolvedConfig config = config_of("noisy");
  config.config.train.max_iters = 200;
  config.config.train.learning_rate = 0.3;  // so high that the average is better than what it averages
  config.config.train.lr_schedule = LrSchedule::constant;
  config.config.train.ema = 0.9;
  config.config.eval.eval_interval = 20;
  CompareOptions options = options_for(1);
  Record whole, ended;
  std::vector<EvalEvent> evaluations;
  whole.listen = [&](const PlannedRun&, Trainer& trainer, std::optional<std::int64_t>) {
    hear<EvalEvent>(trainer, [&](const EvalEvent& event) { evaluations.push_back(event); });
  };
  compare({config}, options, whole.hooks());
  double lowest = std::numeric_limits<double>::infinity();  // of the trained weights so far
  const auto first = std::ranges::find_if(evaluations, [&](const EvalEvent& event) {
    lowest = std::min(lowest, event.val_loss);
    return event.averaged_val_loss.value() < lowest;
  });
  REQUIRE(first != evaluations.end());
  REQUIRE(first->step < 200);

  options.out = path() / "ended";
  options.target = ended.training.stop_at = (*first->averaged_val_loss + lowest) / 2;
  options.stop_at_target = true;
  ended.listen = [](const PlannedRun& run, Trainer& trainer, std::optional<std::int64_t> resume_step) {
    trainer.add_listener(std::make_shared<MetricsWriter>(run.folder / "metrics.jsonl", resume_step));
  };
  const Comparison comparison = compare({config}, options, ended.hooks());
  const SeedRun& run = comparison.results.at(0).runs.seeds.at(0);
  CHECK(run.steps == first->step);
  CHECK(run.ended == Ending::stopped);
}
