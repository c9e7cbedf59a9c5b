// The teaching ladder: which presets it has, what a step is, and that its table fits a terminal of 80 columns.
#include "compare/ladder.h"

#include <cmath>
#include <set>
#include <sstream>

#include "config/load.h"
#include "report/terminal.h"
#include "test.h"

namespace chargpt {
namespace {

ConfigRuns runs_of(const std::string& config, const std::vector<double>& losses, bool leaks = false) {
  ConfigRuns runs{.config = config, .params = 5};
  runs.options.model = {.type = leaks ? "average" : "gpt", .block_size = 8, .causal = !leaks};
  for (const double loss : losses) {
    SeedRun run{.seed = std::ssize(runs.seeds), .loss = loss};
    if (std::isnan(loss)) run.failure = "training diverged";
    runs.seeds.push_back(run);
  }
  return runs;
}

Comparison four_rungs() {
  return rank_configs({runs_of("ladder/attention", {1.0, 1.5}), runs_of("ladder/average", {0.5, 0.5}, /*leaks=*/true),
                       runs_of("ladder/bigram", {2.0, 2.5}), runs_of("ladder/masked", {std::nan(""), std::nan("")}),
                       runs_of("ladder/transformer", {0.4, 1.8})});
}

}  // namespace

TEST_CASE("the ladder is every preset of its folder, and its lessons are short") {
  std::set<std::string> of_folder, of_ladder;
  for (const std::string& preset : preset_names())
    if (preset.starts_with("ladder/")) of_folder.insert(preset);
  for (const Rung& rung : ladder) {
    of_ladder.emplace(rung.preset);
    CHECK(display_width(std::string(rung.lesson)) <= 42);
  }
  CHECK(of_ladder == of_folder);
}

TEST_CASE("a step is the loss minus that of the rung below, but for rungs that leak or failed") {
  const Json rungs = ladder_table(four_rungs(), {}).json["rungs"];
  std::vector<std::string> below;
  for (const Json& rung : rungs)
    below.push_back(rung["versus_below"].is_null() ? "" : rung["versus_below"]["below"].get<std::string>());
  CHECK(below ==
        std::vector<std::string>{"", "", "", "ladder/bigram", "ladder/attention"});  // average leaks, masked failed
  CHECK(rungs[3]["config"] == "ladder/attention");
  CHECK(rungs[3]["versus_below"]["difference"] == Approx(-1));
  CHECK(rungs[4]["versus_below"]["difference"] == Approx(-0.15));
  const auto by_hand = paired_difference(std::vector{0.4, 1.8}, std::vector{1.0, 1.5}, 2);
  CHECK(rungs[4]["versus_below"]["ci95"][0] == by_hand.ci95->low);  // of two steps: three rungs have a loss to rank
}

TEST_CASE("the ladder's table marks what leaks and fits 80 columns") {
  const Comparison comparison = four_rungs();
  std::istringstream lines(
      ladder_table(comparison, {{"counting pairs", "what a bigram can reach", 2.4857}}).table.text());
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  REQUIRE(rows.size() == 7);
  for (const std::string& row : rows) CHECK(display_width(row) <= 80);
  CHECK(rows[2].starts_with("average (leaks)  0.5000           sees its own target"));
  CHECK(rows[3].starts_with("masked           failed"));
  CHECK(rows[4].starts_with("attention        1.2500  -1.0000  one head"));
  CHECK(rows[6].starts_with("counting pairs   2.4857           what a bigram can reach"));
}

TEST_CASE("steps that seeds do not tell from none are named") {
  const Comparison comparison = four_rungs();
  const LadderTable table = ladder_table(comparison, {});
  REQUIRE(table.remarks.size() == 2);
  CHECK(table.remarks[1] == "steps that may be chance: transformer from attention");
  Comparison two = rank_configs({runs_of("ladder/bigram", {2.0, 2.52}), runs_of("ladder/attention", {1.0, 1.5})});
  CHECK(ladder_table(two, {}).remarks.size() == 1);  // p = 0.0063
  two.look = 2;
  CHECK(ladder_table(two, {}).remarks.back() == "steps that may be chance: attention from bigram");
}

}  // namespace chargpt
