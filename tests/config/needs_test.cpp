#include "config/refused.h"

#include <nlohmann/json.hpp>

#include "config/describe.h"
#include "failure.h"

namespace chargpt {
namespace {

ResolvedConfig parse(const std::string& text, const std::vector<Override>& overrides = {}) {
  return parse_config(text, "mine.json", ".", overrides);
}

/// What is said of the config, of which every option should have an effect.
std::string said_of(const ResolvedConfig& resolved) {
  return error_of([&] { refuse_unused_options(resolved); }).line;
}

TEST_CASE("needs are alternatives of conditions") {
  Config config;
  config.model.norm = Norm::none;
  config.model.bias_places = {};
  CHECK_FALSE(unmet_need(config, "model.norm = none"));
  CHECK_FALSE(unmet_need(config, "model.norm = rmsnorm|none"));
  CHECK_FALSE(unmet_need(config, "data.separator = \"\""));
  CHECK(unmet_need(config, "model.norm != none") == "model.norm");
  CHECK(unmet_need(config, "model.dropout != 0") == "model.dropout");
  CHECK(unmet_need(config, "model.norm = none, model.bias_places != []") == "model.bias_places");
  CHECK_FALSE(unmet_need(config, "model.bias_places != [] or model.dropout = 0"));
  CHECK(unmet_need(config, "model.bias_places != [] or model.dropout != 0") == "model.bias_places");
}

TEST_CASE("what a config inherits may have no effect in it") {
  CHECK(said_of(parse(R"({"extends": "default", "model": {"position": "learned", "norm": "none"}})")) == "no error");
  CHECK(said_of(parse(R"({"extends": "nanogpt-cpu"})", {{"lr_schedule", "constant", "--lr_schedule"}})) == "no error");
  ResolvedConfig of_a_run = parse(to_json(parse(R"({"model": {"rope_base": 500}})")).dump());  // with its origins
  CHECK(said_of(of_a_run) == "no error");
  apply_overrides(of_a_run, std::vector<Override>{{"seed", "2", "--seed"}});
  CHECK(said_of(of_a_run) == "no error");
  apply_overrides(of_a_run, std::vector<Override>{{"rope_base", "600", "--set"}});
  CHECK(said_of(of_a_run).starts_with("--set: model.rope_base = 600 has no effect"));
}

TEST_CASE("what a file sets may lose its effect by an override, and only by that") {
  const std::string file = R"({"train": {"min_lr": 0, "lr_schedule": "linear"}})";
  CHECK(said_of(parse(file, {{"lr_schedule", "constant", "--vary"}})) == "no error");
  CHECK(said_of(parse(R"({"train": {"min_lr": 0, "lr_schedule": "constant"}})", {{"seed", "2", "--seed"}})) ==
        "mine.json:1: train.min_lr = 0 has no effect: it needs train.lr_schedule != constant; train.lr_schedule = "
        "constant (mine.json:1)");
}

TEST_CASE("every need that config.h declares can be read, and each preset obeys what it sets itself") {
  for (const OptionInfo& option : option_table())
    if (!option.needs.empty()) CHECK_NOTHROW(unmet_need(Config(), option.needs));
  for (const std::string& preset : preset_names()) {
    INFO(preset);
    CHECK(said_of(load_config(preset)) == "no error");
  }
}

}  // namespace
}  // namespace chargpt
