// Ranks, intervals and their two forms, from losses written by hand.
#include "compare/comparison_report.h"

#include <nlohmann/json.hpp>

#include "test.h"

namespace chargpt {
namespace {

/// Losses `base` and a little more or less in turn, a different little for each seed.
ConfigRuns config_of(const std::string& name, std::vector<float> bases) {
  ConfigRuns runs{.config = name, .params = 1234, .block_size = 8};
  for (const float base : bases) {
    SeedRun run{.seed = 1337 + std::ssize(runs.seeds), .seconds = 2, .tokens_per_second = 5000, .step = 100};
    run.run = "out/" + name + "-seed" + std::to_string(run.seed);
    for (int i = 0; i < 20'000; ++i) run.losses.push_back(base + (i % 2 == 0 ? 0.5f : -0.5f));
    run.loss = base;
    runs.seeds.push_back(run);
  }
  return runs;
}

std::vector<std::string> names(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const ConfigResult& result : comparison.results) all.push_back(result.runs.config);
  return all;
}

}  // namespace

TEST_CASE("the lowest mean is ranked first and the others are measured against it") {
  const Comparison comparison =
      rank_configs({config_of("worse", {2.0f, 2.25f, 2.5f}), config_of("better", {1.5f, 1.75f, 2.0f})});
  CHECK(names(comparison) == std::vector<std::string>{"better", "worse"});
  const ConfigResult& best = comparison.results[0];
  CHECK(best.rank == 1);
  CHECK_FALSE(best.versus_best);
  CHECK(best.mean.mean == Approx(1.75));
  CHECK(*best.mean.deviation == Approx(0.25));
  const ConfigResult& second = comparison.results[1];
  CHECK(second.rank == 2);
  CHECK(second.versus_best->mean == Approx(0.5));  // the same in every seed and everywhere in the text
  CHECK(second.versus_best->ci95->low == Approx(0.5));
  CHECK(*second.versus_best->p == Approx(0).margin(1e-9));
  CHECK(comparison.tokens == 20'000);
  CHECK(comparison.pairs == 1);
}

TEST_CASE("a leaking model is listed after the others without a rank, whatever its loss") {
  ConfigRuns leaking = config_of("leaking", {0.5f, 0.5f});
  leaking.leaks = true;
  const Comparison comparison = rank_configs({leaking, config_of("honest", {2.0f, 2.0f})});
  CHECK(names(comparison) == std::vector<std::string>{"honest", "leaking"});
  CHECK(comparison.results[0].rank == 1);
  CHECK(comparison.results[1].rank == 0);
  CHECK_FALSE(comparison.results[1].versus_best);
  CHECK(comparison.results[1].mean.mean == Approx(0.5));
  CHECK(any_has(table_notes(comparison), "leaking leaks: sees its own targets"));
}

TEST_CASE("a config with a run that diverged is listed without figures it does not have") {
  ConfigRuns failed = config_of("failed", {1.0f, 1.0f});
  failed.seeds[1].failure = Error(ExitCode::diverged, "training diverged: step 7 has loss nan");
  failed.seeds[1].losses.clear();
  const Comparison comparison = rank_configs({failed, config_of("sound", {2.0f, 2.0f})});
  CHECK(names(comparison) == std::vector<std::string>{"sound", "failed"});
  CHECK(comparison.results[1].rank == 0);
  CHECK(any_has(table_notes(comparison), "failed with seed 1338: training diverged: step 7 has loss nan"));
  const nlohmann::ordered_json json = to_json(comparison)["results"][1];
  CHECK(json.dump().find("nan,") == std::string::npos);
  CHECK(nlohmann::json::parse(json.dump())["mean"].is_null());
  CHECK(json["seeds"][1]["loss"].is_null());
  CHECK(json["seeds"][0]["loss"] == 1.0);
}

TEST_CASE("times of runs that shared the machine are marked in table, JSON and remarks") {
  ConfigRuns shared = config_of("shared", {1.0f, 1.5f});
  shared.seeds[1].jobs = 3;
  const Comparison comparison = rank_configs({shared, config_of("alone", {2.0f, 2.0f})});
  const nlohmann::ordered_json json = to_json(comparison);
  CHECK(json["results"][0]["seeds"][1]["jobs"] == 3);
  CHECK_FALSE(json["results"][0]["seeds"][0].contains("jobs"));
  CHECK(any_has(table_notes(comparison), "* up to 3 trainings shared the machine"));
  const std::string table = to_table(comparison).text();
  CHECK(table.find("5.00k*") != table.npos);
  CHECK(table.find("2.0*") != table.npos);
  CHECK(std::count(table.begin(), table.end(), '*') == 2);
}

TEST_CASE("one seed has no interval, and its table no columns for one") {
  const Comparison one = rank_configs({config_of("a", {1.0f}), config_of("b", {2.0f})});
  CHECK(any_has(remarks(one), "no intervals: one seed does not show how much seeds differ"));
  for (const std::size_t columns : {0, 80}) {
    const std::string table = to_table(one).text(columns);
    CHECK(table.find("    1.0000  10 of 10  ") != table.npos);  // above best, tenths
    for (const char* heading : {"std", "95 %", " p "}) CHECK(table.find(heading) == table.npos);
  }
  const nlohmann::ordered_json json = to_json(one);
  CHECK(json["results"][0]["spread"].is_null());
  CHECK(json["results"][1]["versus_best"]["ci95"].is_null());
}

TEST_CASE("test losses have a column where every seed has one") {
  ConfigRuns a = config_of("a", {1.5f, 2.0f}), b = config_of("b", {2.0f, 2.5f});
  const auto first_line = [](const Comparison& comparison) {
    const std::string text = to_table(comparison).text();
    return text.substr(0, text.find('\n'));
  };
  CHECK(first_line(rank_configs({a, b})).find("test") == std::string::npos);
  CHECK_FALSE(any_has(table_notes(rank_configs({a, b})), "test"));
  for (ConfigRuns* runs : {&a, &b})
    for (SeedRun& run : runs->seeds) run.test_loss = run.loss + 0.125;
  Comparison comparison = rank_configs({a, b});
  CHECK_THAT(first_line(comparison), Catch::Contains("loss    test"));
  CHECK_THAT(to_table(comparison).text(), Catch::Contains("1.7500  1.8750"));
  CHECK(to_json(comparison)["results"][1]["test_loss"] == 2.375);
  CHECK(to_json(comparison)["results"][0]["seeds"][1]["test_loss"] == 2.125);
  CHECK(any_has(table_notes(comparison), "best checkpoint on the test split"));
  comparison.results[1].runs.seeds[0].test_loss = {};
  CHECK_FALSE(to_json(comparison)["results"][1].contains("test_loss"));
}

TEST_CASE("the tenths of the text in which the best is ahead are counted") {
  ConfigRuns behind = config_of("behind", {1.5f});
  for (std::size_t i = 0; i < 6'000; ++i) behind.seeds[0].losses[i] -= 1;  // three tenths
  const Comparison comparison = rank_configs({behind, config_of("best", {1.0f})});
  CHECK(comparison.results[0].runs.config == "best");
  CHECK(to_json(comparison)["results"][1]["versus_best"]["ahead_in_tenths"] == 7);
}

TEST_CASE("the verdict says who is ahead, and whether that is certain") {
  const auto verdict_of = [](std::vector<ConfigRuns> configs) { return verdict(rank_configs(std::move(configs))); };
  CHECK(verdict_of({config_of("a", {1.0f})}).empty());
  CHECK(verdict_of({config_of("quick rate=1e-3", {1.0f}), config_of("quick rate=3e-3", {1.5f})}) ==
        "rate=1e-3 is ahead by 0.5000, in 10 of 10 tenths of the text; one seed cannot show whether that is luck: try "
        "--seeds 3");
  CHECK(verdict_of({config_of("a", {1.0f, 1.0f}), config_of("b", {1.15f, 1.25f})}) ==
        "a is ahead in both seeds, perhaps by chance");
  CHECK(verdict_of({config_of("a", {1.0f, 1.0f, 1.0f}), config_of("b", {1.2f, 0.9f, 1.01f})}) ==
        "a is ahead in 2 of 3 seeds, perhaps by chance");
  CHECK_THAT(verdict_of({config_of("a", {1.0f, 1.0f, 1.0f}), config_of("b", {1.2f, 1.0f, 1.1f})}),
             Catch::StartsWith("a is ahead in 2 of 3 seeds"));  // and equal in one
  CHECK(verdict_of({config_of("a", {1.0f, 1.0f, 1.0f}), config_of("b", {1.5f, 1.51f, 1.52f})}) ==
        "a is ahead by 0.5100 (95 % interval over other seeds: 0.4852 to 0.5348), in 10 of 10 tenths of the text");
  CHECK(verdict_of({config_of("a", {1.0f, 1.0f}), config_of("b", {1.15f, 1.25f}), config_of("c", {3.0f, 3.0f})}) ==
        "a is ahead of b in both seeds, perhaps by chance");
  CHECK(verdict_of({config_of("a", {1.0f, 1.0f}), config_of("b", {1.0f, 1.0f})}) == "a and b have equal losses");
  ConfigRuns leaking = config_of("leaking", {0.5f});
  leaking.leaks = true;
  CHECK(verdict_of({leaking, config_of("honest", {2.0f})}).empty());
  CHECK_THAT(verdict_of({config_of("a", {1.0f}), config_of("b", {1.5f}), leaking}),
             Catch::StartsWith("a is ahead by 0.5000, "));
}

TEST_CASE("a config whose losses are those of the best with every seed is not distinguishable from it") {
  const Comparison comparison = rank_configs({config_of("a", {1.0f, 1.25f}), config_of("b", {1.0f, 1.25f})});
  CHECK(any_has(remarks(comparison), "not distinguishable from a: b"));
}

TEST_CASE("of three configs each difference is held to a third of the 5 %") {
  const auto p_among = [](std::vector<ConfigRuns> configs) {
    return *rank_configs(std::move(configs)).results[1].versus_best->p;
  };
  const ConfigRuns a = config_of("a", {1.0f, 1.0f, 1.0f}), b = config_of("b", {1.1f, 1.125f, 1.15f}),
                   far = config_of("far", {3.0f, 3.0f, 3.0f});
  CHECK(p_among({a, b, far}) == Approx(3 * p_among({a, b})).epsilon(1e-6));
  CHECK(any_has(remarks(rank_configs({a, b, far})), "corrected for all 3 pairs of configs"));
  CHECK_FALSE(any_has(remarks(rank_configs({a, b})), "pairs of configs"));
}

TEST_CASE("a run is said to have overfitted, or to have lost patience") {
  ConfigRuns runs = config_of("a", {1.0f, 1.0f, 1.0f});
  for (SeedRun& run : runs.seeds) run.lowest_loss = 0.99;
  runs.seeds[0].lowest_loss = 0.9;
  runs.seeds[0].lowest_step = 60;
  runs.seeds[1].ended = Ending::patience;
  const Comparison comparison = rank_configs({runs});
  const std::vector<std::string> lines = remarks(comparison);
  CHECK(any_has(lines, "a with seed 1337 overfitted: 0.9000 after step 60, 1.0000 at its end"));
  CHECK_FALSE(any_has(lines, "seed 1338 overfitted"));
  CHECK(any_has(lines,
                "a: 1 of 3 seeds ended by patience, which was measured on this split, before the end of the schedule"));
  const nlohmann::ordered_json seeds = to_json(comparison)["results"][0]["seeds"];
  CHECK(seeds[0]["lowest"]["step"] == 60);
  CHECK(seeds[1]["ended"] == "patience");
}

TEST_CASE("numbers of steps that differ are told, but not of a config that is without one of its runs") {
  ConfigRuns fast = config_of("fast", {1.0f, 1.1f}), slow = config_of("slow", {2.0f, 2.1f}),
             failed = config_of("failed", {3.0f, 3.1f});
  for (SeedRun& run : fast.seeds) run.steps = 1200;
  slow.seeds[0].steps = 950;
  slow.seeds[1].steps = 900;
  failed.seeds[0].steps = 700;
  failed.seeds[1].failure = Error(ExitCode::diverged, "training diverged: step 7 has loss nan");
  CHECK(run_remarks(rank_configs({fast, slow, failed})).back() == "steps: fast 1,200, slow 900 to 950");
}

TEST_CASE("the JSON has the promised shape, best first") {
  const nlohmann::ordered_json json =
      to_json(rank_configs({config_of("b", {2.0f, 2.0f}), config_of("a", {1.0f, 1.0f})}));
  const nlohmann::ordered_json& first = json["results"][0];
  CHECK(first["config"] == "a");
  CHECK(first["params"] == 1234);
  CHECK(first["rank"] == 1);
  CHECK(first["mean"] == 1.0);
  CHECK(first["ci95"].size() == 2);
  CHECK(first["versus_best"].is_null());
  CHECK(first["seeds"][1]["run"] == "out/a-seed1338");
  const nlohmann::ordered_json& versus = json["results"][1]["versus_best"];
  CHECK(versus["difference"] == 1.0);
  CHECK(versus["ci95"][0] == 1.0);
  CHECK(versus.contains("p"));
  CHECK(versus["ahead_in_tenths"] == 10);
  CHECK(json["verdict"] == verdict(rank_configs({config_of("b", {2.0f, 2.0f}), config_of("a", {1.0f, 1.0f})})));
  CHECK(json["tokens"] == 20'000);
}

}  // namespace chargpt
