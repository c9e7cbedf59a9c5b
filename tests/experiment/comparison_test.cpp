// Ranks, intervals and their two forms, from losses written by hand.
#include "experiment/comparison.h"

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
    for (int i = 0; i < 100; ++i) run.losses.push_back(base + (i % 2 == 0 ? 0.5f : -0.5f));
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

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(part) != line.npos; });
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
  CHECK(*best.spread == Approx(0.25));
  const ConfigResult& second = comparison.results[1];
  CHECK(second.rank == 2);
  CHECK(second.versus_best->mean == Approx(0.5));  // the same in every seed and everywhere in the text
  CHECK(second.versus_best->ci95.low == Approx(0.5));
  CHECK(second.versus_best->p == Approx(0).margin(1e-9));
  CHECK(comparison.tokens == 100);
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
  CHECK(has(remarks(comparison), "leaking leaks: sees its own targets"));
}

TEST_CASE("a config with a run that diverged is listed without figures it does not have") {
  ConfigRuns failed = config_of("failed", {1.0f, 1.0f});
  failed.seeds[1].failure = "training diverged: update 7 has loss nan";
  failed.seeds[1].losses.clear();
  const Comparison comparison = rank_configs({failed, config_of("sound", {2.0f, 2.0f})});
  CHECK(names(comparison) == std::vector<std::string>{"sound", "failed"});
  CHECK(comparison.results[1].rank == 0);
  CHECK(has(remarks(comparison), "failed with seed 1338: training diverged: update 7 has loss nan"));
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
  CHECK(has(remarks(comparison), "* up to 3 trainings shared the machine"));
  const std::string table = to_table(comparison).text();
  CHECK(table.find("5.00k*") != table.npos);
  CHECK(table.find("2.0*") != table.npos);
  CHECK(std::count(table.begin(), table.end(), '*') == 2);
}

TEST_CASE("one seed says that it speaks of these weights only") {
  const Comparison one = rank_configs({config_of("a", {1.0f}), config_of("b", {2.0f})});
  CHECK(has(remarks(one), "speak of these very weights"));
  CHECK(one.results[1].versus_best->weights_only);
  CHECK_FALSE(one.results[0].spread);
  CHECK_FALSE(has(remarks(rank_configs({config_of("a", {1.0f, 1.0f})})), "these very weights"));
}

TEST_CASE("the smallest difference that could have been resolved is always said beside a difference") {
  // Per seed 0.5 more, 0.7 more: mean 0.6, standard error 0.1 over seeds, and one degree of freedom.
  const Comparison comparison = rank_configs({config_of("a", {1.0f, 1.0f}), config_of("b", {1.5f, 1.7f})});
  CHECK(comparison.results[1].versus_best->resolvable == Approx(1.27062).epsilon(1e-4));
  CHECK(has(remarks(comparison), "could have resolved everywhere is 1.2706 nats"));
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
  CHECK(first["seeds"][1].dump() ==
        R"({"seed":1338,"loss":1.0,"seconds":2.0,"tokens_per_second":5000.0,"run":"out/a-seed1338","step":100})");
  const nlohmann::ordered_json& versus = json["results"][1]["versus_best"];
  CHECK(versus["difference"] == 1.0);
  CHECK(versus["ci95"].dump() == "[1.0,1.0]");
  CHECK(versus.contains("p"));
  CHECK(json["tokens"] == 100);
}

TEST_CASE("the table has a row for each config under its headings") {
  const std::string text = to_table(rank_configs({config_of("b", {2.0f, 2.5f}), config_of("a", {1.0f, 1.0f})})).text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(text.find("rank") < text.find("1.0000"));
  CHECK(text.find("1.0000") < text.find("2.2500"));
}

}  // namespace chargpt
