// The space that is searched and how time is shared out, by hand.
#include "experiment/search_space.h"

#include <nlohmann/json.hpp>
#include <set>

#include "config/load.h"
#include "test.h"

namespace chargpt {
namespace {

Config start() {
  Config config;
  config.model = {.n_layer = 4, .n_head = 4, .n_embd = 64};
  config.train = {.batch_size = 12, .learning_rate = 1e-3, .min_lr = 1e-4};
  return config;
}

bool every_config(const Config&) {
  return true;
}

}  // namespace

TEST_CASE("a candidate changes what it says and nothing else") {
  const Config config = apply(start(), {.rates = 2, .width = 1.5, .depth = 0.5, .batch = 2}, "");
  CHECK(config.train.learning_rate == 2e-3);
  CHECK(config.train.min_lr == 2e-4);
  CHECK(config.model.n_embd == 96);
  CHECK(config.model.n_layer == 2);
  CHECK(config.train.batch_size == 24);
  CHECK(config.train.groups.empty());
  CHECK(to_json(apply(start(), {}, "wte")) == to_json(start()));
  CHECK(config.model.mlp_size == 0);  // as wide as the model asks for
  Config sized = start();
  sized.model.mlp_size = 100;
  CHECK(apply(sized, {.width = 1.5}, "").model.mlp_size == 150);
}

TEST_CASE("rates of groups move against the rest, and embedding and head get a group where there is none") {
  Config grouped = start();
  grouped.train.groups.push_back({.match = "wte", .learning_rate = 1e-2});
  grouped.train.groups.push_back({.match = "wpe", .lr_scale = 5});
  const Config moved = apply(grouped, {.rates = 2, .groups = 0.5}, "wte|lm_head");
  CHECK(moved.train.groups.size() == 2);
  CHECK(moved.train.groups[0].learning_rate == 1e-2);
  CHECK(moved.train.groups[1].lr_scale == 2.5);
  CHECK_FALSE(moved.train.groups[1].learning_rate.has_value());
  const Config given = apply(start(), {.rates = 2, .groups = 5}, "wte|lm_head");
  REQUIRE(given.train.groups.size() == 1);
  CHECK(given.train.groups[0].match == "wte|lm_head");
  CHECK(given.train.groups[0].lr_scale == 5);
  CHECK(apply(start(), {.groups = 5}, "").train.groups.empty());
}

TEST_CASE("a width is one that the heads divide evenly, and nothing shrinks to none") {
  Config narrow = start();
  narrow.model.n_embd = 8;
  narrow.model.n_layer = 1;
  narrow.train.batch_size = 1;
  const Config config = apply(narrow, {.width = 0.5, .depth = 0.5, .batch = 0.5}, "");
  CHECK(config.model.n_embd == 8);  // four heads of two
  CHECK(config.model.n_layer == 1);
  CHECK(config.train.batch_size == 1);
}

TEST_CASE("a candidate says what it changes") {
  CHECK(describe({}) == "as it is");
  CHECK(describe({.rates = 0.25, .depth = 1.5}) == "rates x 0.25, depth x 1.5");
}

TEST_CASE("candidates repeat with their seed, none makes the config of another, and the first is the config itself") {
  const auto drawn = draw_candidates(start(), 0.5, 30, 7, "wte", every_config);
  REQUIRE(drawn.size() == 30);
  CHECK(drawn[0] == Candidate{});
  CHECK(drawn[1] == Candidate{.rates = 0.5});
  CHECK((drawn == draw_candidates(start(), 0.5, 30, 7, "wte", every_config)));
  CHECK((drawn != draw_candidates(start(), 0.5, 30, 8, "wte", every_config)));
  std::set<std::string> configs;
  for (const Candidate& candidate : drawn) configs.insert(to_json(apply(start(), candidate, "wte")).dump());
  CHECK(configs.size() == 30);
}

TEST_CASE("what is not allowed is not drawn, and a space that is used up gives fewer") {
  const auto narrow = [](const Config& config) { return config.model.n_embd <= 64; };
  for (const Candidate& candidate : draw_candidates(start(), 1, 20, 1, "", narrow)) CHECK(candidate.width <= 1);
  CHECK(draw_candidates(start(), 1, 20, 1, "", [](const Config&) { return false; }).size() == 1);
}

TEST_CASE("rounds fit into the time, and the last is the config's own where that leaves nine candidates") {
  // 100 s: nine for 100/36 s, three for 100/12, the best and the config itself for 25
  const std::vector<Round> scarce = plan_rounds(100, 1000, 0);
  CHECK(scarce[0].candidates == 9);
  CHECK(scarce[1].candidates == 3);
  CHECK(scarce[2].candidates == 1);
  CHECK(scarce[2].seconds == 25);
  CHECK(scarce[0].seconds == Approx(25.0 / 9));
  // 600 s for a config of 60: 27 for 6.7 s, nine for 20, three and the config itself for 60
  const std::vector<Round> ample = plan_rounds(600, 60, 0);
  CHECK(ample[0].candidates == 27);
  CHECK(ample[1].candidates == 9);
  CHECK(ample[2].candidates == 3);
  CHECK(ample[2].seconds == 60);
  double seconds = ample[2].seconds;
  for (const Round& round : ample) seconds += static_cast<double>(round.candidates) * round.seconds;
  CHECK(seconds <= 601);
  CHECK(plan_rounds(1e6, 1, 0)[0].candidates == 81);
  // A third of 20 goes on, rounded up, and a third of these: 20/9 + 7/3 + 3 + 1 times 60 s
  const std::vector<Round> uneven = plan_rounds(460, 60, 0);
  CHECK(uneven[0].candidates == 20);
  CHECK(uneven[1].candidates == 7);
  CHECK(uneven[2].candidates == 3);
  // Each training costs 5 s besides: (60/9 + 5) + (20 + 5)/3 + (60 + 5)/9 = 27.2 s of one candidate, in 600 - 60 - 5
  CHECK(plan_rounds(600, 60, 5)[0].candidates == 19);
  // Under a second a training tells nothing: a config of half a second has it in every round.
  for (const Round& round : plan_rounds(10, 0.5, 0.1)) CHECK(round.seconds == 0.5);
}

TEST_CASE("the range test goes from 0.01 to 10,000 times the rates and looks at a quarter of the best") {
  CHECK(range_factor(0, 101) == Approx(0.01));
  CHECK(range_factor(20, 61) == Approx(1));
  CHECK(range_factor(60, 61) == Approx(10'000));
  std::vector<RangePoint> points;
  for (int i = 0; i <= 100; ++i) points.push_back({range_factor(i, 101), i < 60 ? 4 - 0.02 * i : 3.0 + i - 60});
  CHECK(centre_of(points) == Approx(range_factor(59, 101) / 4));
  points[30].loss = std::numeric_limits<double>::quiet_NaN();  // what comes after is not looked at
  CHECK(centre_of(points) == Approx(range_factor(29, 101) / 4));
  CHECK(centre_of({}) == 0.25);
}

}  // namespace chargpt
