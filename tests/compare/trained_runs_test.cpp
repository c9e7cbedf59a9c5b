// Runs that were trained before, or several at once: which are seeds of one config, and which of them pair.
#include "compare/ranking.h"

#include "failure.h"

namespace chargpt {
namespace {

TrainedRun run_of(const std::string& name, const std::string& options, std::int64_t seed) {
  TrainedRun run{.name = name, .config = parse_config(options, "config", {}), .params = 7, .seed = {.seed = seed}};
  run.config.config.train.seed = seed;
  run.seed.loss = 1.5;
  return run;
}

const std::string narrow = R"({"name": "narrow", "model": {"n_embd": 32}})", wide = R"({"name": "wide"})";

std::vector<std::int64_t> seeds_of(const ConfigRuns& runs) {
  std::vector<std::int64_t> seeds;
  for (const SeedRun& run : runs.seeds) seeds.push_back(run.seed);
  return seeds;
}
using Seeds = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a run whose seed not every config has is left out, and a lone run keeps its own name") {
  Names remarks;
  const auto configs =
      group_by_config({run_of("runs/b", narrow, 2), run_of("runs/c", wide, 1), run_of("runs/a", narrow, 1)}, remarks);
  REQUIRE(configs.size() == 2);
  CHECK(configs[0].config == "runs/a");
  CHECK(seeds_of(configs[0]) == Seeds{1});
  CHECK(configs[1].config == "runs/c");
  CHECK(remarks == Names{"left out, because not every config has a run with the same seed: runs/b"});
}

TEST_CASE("equal seeds of two configs pair whatever their order") {
  Names remarks;
  const auto configs = group_by_config(
      {run_of("a2", narrow, 2), run_of("a1", narrow, 1), run_of("b1", wide, 1), run_of("b2", wide, 2)}, remarks);
  REQUIRE(configs.size() == 2);
  CHECK(seeds_of(configs[0]) == Seeds{1, 2});
  CHECK(seeds_of(configs[1]) == Seeds{1, 2});
  CHECK(remarks == Names{"narrow: a1 (seed 1), a2 (seed 2)", "wide: b1 (seed 1), b2 (seed 2)"});
}

TEST_CASE("without a common seed as many runs pair as the config with the fewest has") {
  Names remarks;
  const auto configs =
      group_by_config({run_of("a1", narrow, 1), run_of("a2", narrow, 2), run_of("b3", wide, 3)}, remarks);
  CHECK(seeds_of(configs[0]) == Seeds{1});
  CHECK(seeds_of(configs[1]) == Seeds{3});
  REQUIRE(remarks.size() == 2);
  CHECK(remarks[1] == "no seed is common to all runs: they are paired in order of their seeds");
}

TEST_CASE("a second run of one config and seed is not averaged into the first") {
  Names remarks;
  const auto configs = group_by_config({run_of("a", narrow, 1), run_of("again", narrow, 1)}, remarks);
  REQUIRE(configs.size() == 2);
  CHECK(configs[0].config == "a");
  CHECK(configs[1].config == "again");
}

TEST_CASE("what training does not depend on makes no other config") {
  const auto with = [](const std::string& options) { return parse_config(options, "config", {}); };
  CHECK(differences_but_for_seed(with("{}"), with(R"({"train": {"seed": 5, "keep": 3}, "sample": {"top_k": 5}})"))
            .empty());
  CHECK(differences_but_for_seed(with("{}"), with(R"({"train": {"max_iters": 77}})")).size() == 1);
}

}  // namespace chargpt
