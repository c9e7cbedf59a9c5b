#include "network/parameter_groups.h"

#include "failure.h"

namespace chargpt {
namespace {

ResolvedConfig parse(const std::string& text, const std::vector<Override>& overrides = {}) {
  return parse_config(text, "mine.json", ".", overrides);
}

/// What is said of flags such as {"bias_places", "norm"} over a preset; "no error" where all have an effect.
std::string said_of(const std::string& preset, const std::vector<std::pair<std::string, std::string>>& flags) {
  std::vector<Override> overrides;
  for (const auto& [key, value] : flags) overrides.push_back({key, value, "--" + key});
  return error_of([&] { refuse_unused(load_config(preset, overrides)); }).line;
}

TEST_CASE("the groups of default have the rates and decays that it was measured with") {
  const auto groups = groups_in_force(load_config("default").config, 65);
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].learning_rate == Approx(0.06));
  CHECK(groups[0].weight_decay == 0);
  CHECK(groups[1].learning_rate == 2e-2);
  CHECK(groups[2].learning_rate == 1e-2);
  CHECK(groups[2].weight_decay == 0.1);
  CHECK(groups[1].parameters == 65 * 64);
  CHECK(groups[2].parameters == 65 * 64);
  CHECK(groups[3].rule == UpdateRule::muon_rows);
  CHECK(groups[3].momentum == 0.9);
  CHECK(groups[0].parameters + groups[1].parameters + groups[2].parameters + groups[3].parameters == 304768);
}

TEST_CASE("the weights of a preset with a group for the head may be tied") {
  Config config = load_config("default").config;
  config.model.tie_weights = true;
  const auto groups = groups_in_force(config, 65);
  REQUIRE(groups.size() == 3);
  CHECK(groups[1].parameters == 65 * 64);
  config.train.groups.push_back({.match = "."});  // after groups that take all parameters
  CHECK_THROWS_AS(groups_in_force(config, 65), Error);
}

TEST_CASE("parameters outside train.groups decay or not as model.decay says") {
  const auto groups = groups_in_force(load_config("ladder/bigram").config, 65);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].name == "decay");
  Config config = load_config("ladder/bigram").config;
  config.model.decay = Decay::matrices;
  const auto apart = groups_in_force(config, 65);
  REQUIRE(apart.size() == 2);
  CHECK(apart[1].name == "no_decay");
  CHECK(apart[1].parameters == 65);
  CHECK(apart[1].weight_decay == 0);
}

TEST_CASE("biases and dropout at places that a model does not have are refused") {
  CHECK(said_of("nanogpt-cpu", {{"bias", "true"}}) == "no error");
  CHECK(said_of("default", {{"bias", "true"}, {"bias_places", "norm"}}) ==
        "--bias: model.bias = true has no effect: this model has none of model.bias_places");
  CHECK(said_of("ladder/attention", {{"bias", "true"}, {"bias_places", "head"}}) ==
        "--bias: model.bias = true has no effect: this model has none of model.bias_places");
  CHECK(said_of("ladder/attention", {{"dropout", "0.1"}}) == "no error");
  CHECK(said_of("ladder/attention", {{"dropout", "0.1"}, {"dropout_places", "mlp"}}) ==
        "--dropout: model.dropout = 0.1 has no effect: this model has none of model.dropout_places");
  CHECK(said_of("nanogpt-cpu", {{"dropout", "0.1"}, {"dropout_places", "mlp"}}) == "no error");
}

TEST_CASE("decay of vectors and constants of Adam are refused where nothing follows them") {
  CHECK(said_of("default", {{"decay", "all"}}) ==
        "--decay: model.decay = all has no effect: no vector (bias, gain) is outside train.groups");
  CHECK(said_of("ladder/bigram", {{"decay", "matrices"}}) == "no error");
  CHECK(said_of("nanogpt-cpu", {{"beta1", "0.5"}, {"adam_eps", "1e-6"}, {"weight_decay", "0.2"}}) == "no error");
  const std::string muon = R"([{"match": ".", "optimizer": "muon", "weight_decay": 0}])";
  CHECK(said_of("default", {{"groups", muon}, {"beta1", "0.5"}}) ==
        "--beta1: train.beta1 = 0.5 has no effect: no group of train.groups has an optimizer that uses it (adamw)");
  CHECK(said_of("default", {{"groups", muon}, {"beta2", "0.5"}}).starts_with("--beta2: train.beta2 = 0.5 "));
  CHECK(said_of("default", {{"groups", muon}, {"adam_eps", "0.5"}}).starts_with("--adam_eps: train.adam_eps = 0.5 "));
  CHECK(said_of("default", {{"groups", muon}, {"weight_decay", "0.5"}}).starts_with("--weight_decay: "));
  CHECK(said_of("default", {{"groups", muon}, {"learning_rate", "0.01"}}) == "no error");
  const std::string all_but_wte = R"([{"match": "lm_head|\\.h\\.", "learning_rate": 1}])";
  CHECK(said_of("default", {{"groups", all_but_wte}, {"learning_rate", "0.01"}}) == "no error");
}

TEST_CASE("a file may state rate and decay beside groups that have their own; an override may not") {
  const std::string groups = R"("groups": [{"match": ".", "learning_rate": 0.01, "weight_decay": 0}])";
  const auto said = [&](const std::string& train, const std::vector<Override>& overrides = {}) {
    return error_of([&] { refuse_unused(parse(R"({"extends": "default", "train": {)" + train + "}}", overrides)); })
        .line;
  };
  CHECK(said(groups) == "no error");  // what the base states is not the file's
  CHECK(said(R"("learning_rate": 2e-3, "weight_decay": 0.1, )" + groups) == "no error");
  CHECK(said(groups, {{"learning_rate", "1e-3", "--vary"}}) ==
        "--vary: train.learning_rate = 0.001 has no effect: every group of train.groups sets its own "
        "learning_rate; set lr_scale there instead");
  CHECK(said(groups, {{"weight_decay", "0.2", "--weight_decay"}}).starts_with("--weight_decay: train.weight_decay"));
}

}  // namespace
}  // namespace chargpt
