// The learning rates that --tune-rate tries, and which of them a config gets.
#include "experiment/compare/tuned_rates.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "test.h"

namespace chargpt {
namespace {

ResolvedConfig with_rate(const std::string& name, double rate) {
  ResolvedConfig resolved = parse_config("{}", name, {});
  resolved.config.name = name;
  resolved.config.train.learning_rate = rate;
  resolved.config.train.min_lr = rate / 10;
  return resolved;
}

/// Candidates whose losses are these, in order; NaN: its training diverged.
Comparison results_of(const std::vector<ResolvedConfig>& candidates, const std::vector<double>& losses) {
  Comparison comparison;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    ConfigResult result;
    result.runs.config = candidates[i].config.name;
    result.mean.mean = losses[i];
    comparison.results.insert(comparison.results.begin(), result);
  }
  return comparison;
}

}  // namespace

TEST_CASE("the rates tried are powers of two around the config's own") {
  CHECK(rate_factors(5) == std::vector<double>{0.25, 0.5, 1, 2, 4});
  CHECK(rate_factors(2) == std::vector<double>{0.5, 1});
}

TEST_CASE("every learning rate of a config is scaled") {
  ResolvedConfig config = with_rate("a", 1e-3);
  config.config.train.groups.push_back({.match = "wte", .learning_rate = 0.02});
  scale_rates(config, 4);
  CHECK(config.config.train.learning_rate == Approx(4e-3));
  CHECK(config.config.train.min_lr == Approx(4e-4));
  CHECK(config.config.train.groups[0].learning_rate == Approx(0.08));
  CHECK(config.origin.at("train.learning_rate") == "--tune-rate");
}

TEST_CASE("each config gets the rate of its lowest loss, and its own where all diverged") {
  const std::vector<ResolvedConfig> configs{with_rate("a", 1e-3), with_rate("b", 1e-2), with_rate("c", 1)};
  const std::vector<ResolvedConfig> candidates = rate_candidates(configs, 3);
  REQUIRE(candidates.size() == 9);
  CHECK(candidates[0].config.name == "a rates x0.5");
  CHECK(candidates[5].config.train.learning_rate == Approx(2e-2));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto chosen = choose_rates(configs, 3, results_of(candidates, {2.2, 2.1, 2.3, 2.5, nan, 2.4, nan, nan, nan}));
  REQUIRE(chosen.size() == 3);
  CHECK(describe(chosen[0]) == "a: 0.001 (x 1)");
  CHECK(describe(chosen[1]) == "b: 0.02 (x 2), the highest tried");
  CHECK(describe(chosen[2]) == "c: 1 (x 1), its own, since training diverged at every rate");
  CHECK(to_json(chosen[1])["loss"] == 2.4);
  CHECK(to_json(chosen[2])["loss"].is_null());
}

TEST_CASE("two configs of one name keep their rates apart, and a name that grows too long is refused") {
  const std::vector<ResolvedConfig> twins{with_rate("a", 1e-3), with_rate("a", 1e-3)};
  const std::vector<ResolvedConfig> candidates = rate_candidates(twins, 2);
  const auto chosen = choose_rates(twins, 2, results_of(candidates, {1, 2, 2, 1}));
  CHECK(chosen[0].factor == 0.5);
  CHECK(chosen[1].factor == 1);
  CHECK_THROWS_AS(rate_candidates({with_rate(std::string(95, 'x'), 1)}, 2), Error);
}

}  // namespace chargpt
