// Ranks, intervals and their two forms, from losses written by hand.
#include "compare/comparison_report.h"

#include "test.h"

namespace chargpt {
namespace {

ConfigRuns config_of(const std::string& name, const std::vector<double>& losses) {
  ConfigRuns runs{.config = name, .params = 1234};
  runs.options.train.batch_size = 5;
  runs.options.model.block_size = 2;
  for (const double loss : losses) {
    SeedRun run{.seed = 1337 + std::ssize(runs.seeds),
                .loss = loss,
                .seconds = 2,
                .tokens_per_second = 5000,
                .step = 100,
                .steps = 100};
    run.run = "out/" + name + "-seed" + std::to_string(run.seed);
    runs.seeds.push_back(run);
  }
  return runs;
}

std::vector<std::string> names(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const ConfigRuns& result : comparison.results) all.push_back(result.config);
  return all;
}

std::vector<std::string> remarks(const Comparison& comparison) {
  return report_of(comparison).json["remarks"];
}

std::string ranks(const Comparison& comparison, std::size_t columns = 0) {
  return part_text(report_of(comparison).parts()[0], columns);
}

}  // namespace

TEST_CASE("the lowest mean is ranked first and the others are measured against it") {
  const Comparison comparison =
      rank_configs({config_of("worse", {2.0, 2.25, 2.5}), config_of("better", {1.5, 1.75, 2.0})});
  CHECK(names(comparison) == std::vector<std::string>{"better", "worse"});
  const ConfigRuns& best = comparison.results[0];
  CHECK(best.mean.mean == Approx(1.75));
  CHECK(*best.mean.deviation == Approx(0.25));
  const ConfigRuns& second = comparison.results[1];
  CHECK(second.rank == 2);
  CHECK(second.versus_best->mean == Approx(0.5));  // the same in every seed
  CHECK(second.versus_best->ci95->low == Approx(0.5));
  CHECK(*second.versus_best->p == Approx(0).margin(1e-9));
}

TEST_CASE("a leaking model is listed after the others without a rank, whatever its loss") {
  ConfigRuns leaking = config_of("leaking", {0.5, 0.5});
  leaking.options.model = {.type = "average", .causal = false};
  const Comparison comparison = rank_configs({leaking, config_of("honest", {2.0, 2.0})});
  CHECK(names(comparison) == std::vector<std::string>{"honest", "leaking"});
  CHECK(comparison.results[0].rank == 1);
  CHECK(comparison.results[1].rank == 0);
  CHECK_FALSE(comparison.results[1].versus_best);
  CHECK(report_of(comparison).json["results"][1]["leaks"] == true);
  CHECK(any_has(remarks(comparison), "leaking leaks: sees its own targets"));
}

TEST_CASE("a config with a run that diverged is listed without figures it does not have") {
  ConfigRuns failed = config_of("failed", {1.0, 1.0});
  failed.seeds[1].failure = "training diverged: step 7 has loss nan";
  failed.seeds[1].loss = std::nan("");
  const Comparison comparison = rank_configs({failed, config_of("sound", {2.0, 2.0})});
  CHECK(names(comparison) == std::vector<std::string>{"sound", "failed"});
  CHECK(comparison.results[1].rank == 0);
  CHECK(any_has(remarks(comparison), "failed with seed 1338: training diverged: step 7 has loss nan"));
  const Json json = report_of(comparison).json["results"][1];
  CHECK(json.dump().find("nan,") == std::string::npos);
  CHECK(nlohmann::json::parse(json.dump())["mean"].is_null());
  CHECK(json["seeds"][1]["loss"].is_null());
  CHECK(json["seeds"][0]["loss"] == 1.0);
}

TEST_CASE("times of runs that shared the machine are marked in table, JSON and remarks") {
  ConfigRuns shared = config_of("shared", {1.0, 1.5});
  shared.seeds[1].jobs = 3;
  const Comparison comparison = rank_configs({shared, config_of("alone", {2.0, 2.0})});
  const Json json = report_of(comparison).json;
  CHECK(json["results"][0]["seeds"][1]["jobs"] == 3);
  CHECK_FALSE(json["results"][0]["seeds"][0].contains("jobs"));
  CHECK(any_has(remarks(comparison), "times with a *: up to 3 runs trained at once"));
  const std::string table = ranks(comparison);
  CHECK(table.find("5.00k*") != table.npos);
  CHECK(table.find("2.0*") != table.npos);
  CHECK(std::count(table.begin(), table.end(), '*') == 2);
}

TEST_CASE("one seed has no interval, and its table no columns for one") {
  const Comparison one = rank_configs({config_of("a", {1.0}), config_of("b", {2.0})});
  CHECK_FALSE(any_has(remarks(one), "interval"));
  for (const std::size_t columns : {0, 80}) {
    const std::string table = ranks(one, columns);
    CHECK(table.find("2.0000      1.0000") != table.npos);  // above best
    for (const char* heading : {"std", "95 %", " p "}) CHECK(table.find(heading) == table.npos);
  }
  const Json json = report_of(one).json;
  CHECK(json["results"][0]["spread"].is_null());
  CHECK(json["results"][1]["versus_best"]["ci95"].is_null());
}

std::string verdict_of(std::vector<ConfigRuns> configs, std::int64_t look = 1) {
  Comparison comparison = rank_configs(std::move(configs));
  comparison.look = look;
  return report_of(comparison).json["verdict"];
}

TEST_CASE("the verdict says who is ahead, at which level, or that it may be chance") {
  CHECK(report_of(rank_configs({config_of("a", {1.0})})).parts().size() == 1);  // the table alone
  CHECK(verdict_of({config_of("quick rate=1e-3", {1.0}), config_of("quick rate=3e-3", {1.5})}) ==
        "rate=1e-3 has a lower loss than rate=3e-3, by 0.5000; one seed cannot rule out chance: train several "
        "of each (--seeds)");
  CHECK(
      verdict_of({config_of("a", {1.0, 1.0, 1.0}), config_of("b", {1.2, 0.9, 1.0})}) ==
      "a has a lower loss than b in 1 of 3 seeds, by 0.0333, which may be chance (p = 0.7418, level 0.04); more seeds "
      "(--seeds) are tested at p ≤ 0.005");
  CHECK(verdict_of({config_of("a", {1.0, 1.0, 1.0}), config_of("b", {1.5, 1.51, 1.52})}) ==
        "a is ahead of b by 0.5100 (p = 0.0001, level 0.04)");
  CHECK(verdict_of({config_of("a", {1.0, 1.0}), config_of("b", {1.0, 1.0})}) == "a and b are equal (within 0.0001)");
  CHECK(verdict_of({config_of("a", {1.0, 1.0}), config_of("b", {1.00003, 1.00003})}) ==
        "a and b are equal (within 0.0001)");
  CHECK(verdict_of({config_of("a", {1.2, 1.3, 2.7, 1.8}), config_of("b", {1.8, 2.7, 1.3, 1.2})}) ==
        "a and b are equal (within 0.0001)");  // the mean difference is -6e-17
  ConfigRuns leaking = config_of("leaking", {0.5});
  leaking.options.model = {.type = "average", .causal = false};
  CHECK(verdict_of({leaking, config_of("honest", {2.0})}).empty());
}

TEST_CASE("a later look needs a lower p, and a comparison whose looks are unknown says so") {
  const std::vector<ConfigRuns> configs{config_of("a", {1.0, 1.0, 1.0}), config_of("b", {1.1, 1.12, 1.13})};
  CHECK_THAT(verdict_of(configs, 1), Catch::Contains("is ahead of b by 0.1167 (p = 0.0057, level 0.04)"));
  CHECK_THAT(verdict_of(configs, 2), Catch::Contains("may be chance (p = 0.0057, level 0.005)"));
  Comparison comparison = rank_configs({configs[0], configs[1], config_of("c", {1.1, 1.12, 1.14})});
  CHECK_FALSE(any_has(remarks(comparison), "look"));
  comparison.look = 3;
  CHECK(any_has(remarks(comparison), "this is look 3 at this comparison, so \"is ahead\" needs p ≤ 0.0025"));
  CHECK(any_has(remarks(comparison), "not distinguishable from a: b, c"));
  comparison.look = 0;
  CHECK(any_has(remarks(comparison), "it is unknown how often these runs were compared before"));
  CHECK(report_of(comparison).json["look"].is_null());
}

TEST_CASE("from five seeds on the verdict says how many more would decide") {
  const std::vector<double> a(5, 1.0), b{1.02, 0.99, 1.01, 1.03, 0.98};
  CHECK_THAT(verdict_of({config_of("a", a), config_of("b", b)}),
             Catch::Contains("about 94 further seeds would decide (at p ≤ 0.005), or 54 fresh ones"));
}

TEST_CASE("a clock that was disturbed withholds the verdict") {
  ConfigRuns a = config_of("a", {1.0, 1.0}), b = config_of("b", {1.5, 1.51});
  a.options.train.max_seconds = b.options.train.max_seconds = 5;
  b.seeds[1].tokens_per_second = 5400;
  CHECK_THAT(verdict_of({a, b}), Catch::Contains("a is ahead of b"));  // within 10 %
  b.seeds[1].tokens_per_second = 5700;
  CHECK_THAT(verdict_of({a, b}), Catch::EndsWith("so neither is called ahead"));
  CHECK(any_has(remarks(rank_configs({a, b})),
                "b: its first run, which set the number of steps, trained 5.00k tokens/s "
                "and the others 5.70k"));
  b.seeds[1].tokens_per_second = 5000;
  for (SeedRun& run : b.seeds) run.steps = run.step = 95;  // within 10 %
  CHECK_THAT(verdict_of({a, b}), Catch::Contains("a is ahead of b"));
  for (SeedRun& run : b.seeds) run.steps = run.step = 80;
  CHECK_THAT(verdict_of({a, b}), Catch::EndsWith("so neither is called ahead"));
  CHECK(any_has(remarks(rank_configs({a, b})), "max_seconds gave a 1.25 times the training of b"));
  for (SeedRun& run : b.seeds) run.tokens_per_second = 4000;  // its steps are slower
  CHECK_THAT(verdict_of({a, b}), Catch::Contains("a is ahead of b"));
  b.options.train.max_seconds = 0;  // steps are given
  CHECK_THAT(verdict_of({a, b}), Catch::Contains("a is ahead of b"));
}

TEST_CASE("main effects are means over the other options, paired by seeds") {
  const auto variant = [](const char* head, const char* rate, const std::vector<double>& losses) {
    ConfigRuns runs = config_of(std::string("q ") + head + " " + rate, losses);
    runs.levels = {head, rate};
    return runs;
  };
  const Comparison comparison = rank_configs({variant("h=1", "r=1", {2.0, 2.1}), variant("h=1", "r=2", {1.0, 1.3}),
                                              variant("h=1", "r=3", {3.0, 3.1}), variant("h=2", "r=1", {1.9, 2.0}),
                                              variant("h=2", "r=2", {0.9, 1.2}), variant("h=2", "r=3", {2.9, 3.0})});
  REQUIRE(comparison.effects.size() == 2);
  const std::vector<LevelMean>& head = comparison.effects[0];
  CHECK(head[0].level == "h=2");
  CHECK(head[0].mean == Approx((1.9 + 2.0 + 0.9 + 1.2 + 2.9 + 3.0) / 6));
  CHECK_FALSE(head[0].versus_best);
  CHECK(head[1].versus_best->mean == Approx(0.1));
  const std::vector<LevelMean>& rate = comparison.effects[1];
  REQUIRE(rate.size() == 3);
  CHECK(rate[0].level == "r=2");
  // Seed by seed 1 and 0.8; of one pair of heads and three of rates.
  CHECK(rate[1].versus_best->p == Approx(4 * student_p(0.9 / 0.1, 1)));
  CHECK(report_of(comparison).json["effects"][1][2]["value"] == "r=3");
}

TEST_CASE("of three configs each difference is held to a third of the 5 %") {
  const auto p_among = [](std::vector<ConfigRuns> configs) {
    return *rank_configs(std::move(configs)).results[1].versus_best->p;
  };
  const ConfigRuns a = config_of("a", {1.0, 1.0, 1.0}), b = config_of("b", {1.1, 1.125, 1.15}),
                   far = config_of("far", {3.0, 3.0, 3.0});
  CHECK(p_among({a, b, far}) == Approx(3 * p_among({a, b})).epsilon(1e-6));
  CHECK(any_has(remarks(rank_configs({a, b, far})), "corrected for 3 pairs of configs"));
  CHECK(any_has(remarks(rank_configs({a, b})), "corrected for 1 pair of configs"));
}

TEST_CASE("a run is said to have overfitted, to have lost patience, or to be scored before its end") {
  ConfigRuns runs = config_of("a", {1.0, 1.0, 1.0});
  for (SeedRun& run : runs.seeds) run.lowest_loss = 0.99;
  runs.seeds[0].lowest_loss = 0.9;
  runs.seeds[0].lowest_step = 60;
  runs.seeds[1].ended = Ending::patience;
  runs.seeds[2].step = 40;
  const Comparison comparison = rank_configs({runs});
  const std::vector<std::string> lines = remarks(comparison);
  CHECK(any_has(lines, "a with seed 1337 overfitted: its loss rose from 0.9000 (step 60) to 1.0000 at the end"));
  CHECK(lines.size() == 3);  // nothing of seed 1338, and no interval without another config
  CHECK(any_has(lines, "a: 1 of 3 seeds stopped early by patience, judged on the validation split"));
  CHECK(any_has(lines, "a with seed 1339 is scored at step 40, not at its end"));
  const Json seeds = report_of(comparison).json["results"][0]["seeds"];
  CHECK(seeds[0]["lowest"]["step"] == 60);
  CHECK(seeds[1]["ended"] == "patience");
}

TEST_CASE("unequal training is a remark, a column and a figure; a failed seed counts in no mean") {
  ConfigRuns fast = config_of("fast", {1.0, 1.1}), slow = config_of("slow", {2.0, 2.1}),
             failed = config_of("failed", {3.0, 3.1});
  for (SeedRun& run : fast.seeds) run.steps = 1200;
  slow.seeds[0].steps = 950;
  slow.seeds[1].steps = 900;
  failed.seeds[0].steps = 700;
  failed.seeds[0].seconds = 4;
  failed.seeds[1] = {.seed = 1338, .failure = "was killed"};
  Comparison comparison = rank_configs({fast, slow, failed});
  comparison.train_tokens = 4000;
  CHECK(any_has(remarks(comparison),
                "different training lengths: fast 12.0k tokens in 1,200 steps, slow 9.25k tokens in 925 steps, failed "
                "7.00k tokens "
                "in 700 steps"));
  const Json results = report_of(comparison).json["results"];
  CHECK(results[0]["passes"] == 3);
  CHECK(results[1]["steps"] == 925);
  CHECK(results[2]["trained_tokens"] == 7000);
  const std::string table = ranks(comparison);
  CHECK(table.find("  925  ") != table.npos);
  CHECK(table.find("failed  failed       –") != table.npos);
  CHECK(table.find("     4.0\n") != table.npos);  // seconds of the seed that has not failed
  CHECK(ranks(rank_configs({fast})).find("steps") == table.npos);
}

TEST_CASE("the JSON has the promised shape, best first") {
  const Json json = report_of(rank_configs({config_of("b", {2.0, 2.0}), config_of("a", {1.0, 1.0})})).json;
  const Json& first = json["results"][0];
  CHECK(first["config"] == "a");
  CHECK(first["params"] == 1234);
  CHECK(first["rank"] == 1);
  CHECK(first["mean"] == 1.0);
  CHECK(first["ci95"].size() == 2);
  CHECK(first["versus_best"].is_null());
  CHECK(first["seeds"][1]["run"] == "out/a-seed1338");
  const Json& versus = json["results"][1]["versus_best"];
  CHECK(versus["difference"] == 1.0);
  CHECK(versus["ci95"][0] == 1.0);
  CHECK(versus.contains("p"));
  CHECK(json["verdict"] == "a is ahead of b by 1.0000 (p < 0.0001, level 0.04)");
  CHECK(json["level"] == 0.04);
}

}  // namespace chargpt
