#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "config/accept.h"
#include "config/describe.h"
#include "config/load.h"
#include "failure.h"
#include "source_path.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

ResolvedConfig parse(const std::string& text, std::vector<Override> overrides = {}) {
  return parse_config(text, "mine.json", ".", overrides);
}

TEST_CASE("a config as JSON reads back equal, for every preset") {
  for (const std::string& preset : preset_names()) {
    INFO(preset);
    const ResolvedConfig loaded = load_config(preset);
    const ResolvedConfig again = parse(to_json(loaded.config).dump(2));
    CHECK(to_json(again.config) == to_json(loaded.config));
    CHECK(again.config.name == preset);
  }
}

TEST_CASE("the schema describes every option with its default, limits and help") {
  const Json schema = config_schema();
  CHECK(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema["additionalProperties"] == false);
  const Json& model = schema["properties"]["model"]["properties"];
  CHECK(
      model["n_layer"].dump() ==
      R"json({"type":"integer","minimum":1,"maximum":1000,"default":4,"description":"transformer blocks (L) (needs model.type = gpt)"})json");
  CHECK(model["norm"]["enum"] == Json::parse(R"(["layernorm", "rmsnorm", "none"])"));
  CHECK(model["rope_base"]["exclusiveMinimum"] == 1);
  CHECK(model["bias_places"]["items"]["enum"].size() == 6);
  CHECK(schema["properties"]["train"]["properties"]["groups"]["items"]["required"] == Json::parse(R"(["match"])"));
}

TEST_CASE("the schema has the keys of presets and runs, and options accept their defaults") {
  const Json schema = config_schema()["properties"];
  std::vector<Json> configs;
  for (const std::string& preset : preset_names()) {
    configs.push_back(Json::parse(preset_text(preset), nullptr, true, true));
    configs.push_back(to_json(load_config(preset)));
  }
  for (const Json& config : configs)
    for (const auto& [section, options] : config.items()) {
      INFO(section);
      REQUIRE(schema.contains(section));
      if (section == "origin" || !options.is_object()) continue;
      for (const auto& [name, value] : options.items()) CHECK(schema[section]["properties"].contains(name));
    }
  for (const OptionInfo& option : option_table()) {
    INFO(option.key());
    const Json all = option.schema();
    CHECK(accepted(all["default"], all, option.key(), {"mine.json"}) == nlohmann::json(all["default"]));
    CHECK(schema[option.section]["properties"][option.name] == all);
  }
}

TEST_CASE("every option has its own name and can be set by it, with and without its section, to its default") {
  std::set<std::string> names;
  for (const OptionInfo& row : option_table()) {
    INFO(row.key());
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.help.empty());
    const Json standard = row.get(Config());
    for (const std::string& key : {row.name, row.key()}) {
      const std::string value = standard.is_string() ? standard.get<std::string>() : standard.dump();
      const ResolvedConfig resolved = parse("{}", {{key, value, "--set"}});
      CHECK(resolved.origin.at(row.key()) == Origin{Origin::By::option, "--set"});
      CHECK(to_json(resolved.config) == to_json(parse("{}").config));
    }
  }
}

/// That a config has these options, whatever it has besides.
void check_options(const Config& config, const char* expected) {
  const Json all = to_json(config), wanted = Json::parse(expected);
  for (const auto& [section, options] : wanted.items())
    for (const auto& [key, value] : options.items()) {
      INFO(section << "." << key);
      CHECK(all.at(section).at(key) == value);
    }
}

TEST_CASE("the program holds exactly the presets of configs/, in order of name") {
  const fs::path folder = source_path("/configs");
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json" && entry.path() != folder / "expected.json")
      names.push_back(entry.path().lexically_relative(folder).replace_extension().generic_string());
  std::sort(names.begin(), names.end());
  CHECK(preset_names() == names);
  for (const std::string& name : names) CHECK(preset_text(name) == read_file(folder / (name + ".json")));
}

TEST_CASE("nanogpt-cpu is nanoGPT's recipe for a CPU") {
  check_options(load_config("nanogpt-cpu").config, R"({
    "model": {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "dropout": 0.0, "bias": false,
              "activation": "gelu", "position": "learned", "tie_weights": true},
    "train": {"batch_size": 12, "max_iters": 2000, "learning_rate": 1e-3, "min_lr": 1e-4, "lr_schedule": "cosine",
              "warmup_iters": 100, "beta2": 0.99, "weight_decay": 0.1, "grad_clip": 1.0}})");
}

TEST_CASE("every rung of the ladder trains as the lesson does") {
  for (const std::string& preset : preset_names()) {
    if (!preset.starts_with("ladder/")) continue;
    INFO(preset);
    const Config config = load_config(preset).config;
    check_options(config, R"({
      "model": {"n_embd": 64, "block_size": 8, "init": "pytorch", "decay": "all"},
      "train": {"batch_size": 128, "learning_rate": 1e-3, "lr_schedule": "constant", "warmup_iters": 0,
                "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "adam_eps": 1e-8, "grad_clip": 0.0,
                "windows": "random"}})");
    CHECK(config.model.tie_weights == (config.model.type != "gpt"));  // the others always have a head of their own
    CHECK(config.train.max_iters == (config.model.type == "gpt" ? 8500 : 2000));
  }
  CHECK_FALSE(load_config("ladder/average").config.model.causal);
  CHECK(load_config("ladder/average-causal").config.model.causal);
}

}  // namespace
}  // namespace chargpt
