#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "config/load.h"
#include "source_path.h"
#include "test.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// That a config has these options, whatever it has besides.
void check_options(const Config& config, const char* expected) {
  const auto all = to_json(config), wanted = nlohmann::ordered_json::parse(expected);
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
  REQUIRE(names.size() == presets().size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(presets()[i].name == names[i]);
    CHECK(presets()[i].json == read_file(folder / (names[i] + ".json")));
  }
}

TEST_CASE("the program holds what to expect of the presets") {
  CHECK(expected_figures() == read_file(source_path("/configs/expected.json")));
}

TEST_CASE("a preset and its file give the same config") {
  for (const Preset& preset : presets()) {
    INFO(preset.name);
    const fs::path file = source_path("/configs/" + preset.name + ".json");
    CHECK(load_config(file.string()).config.model.n_embd == load_config(preset.name).config.model.n_embd);
  }
}

TEST_CASE("a preset that is called otherwise now is found by both names") {
  CHECK(load_config("quick-plain").config.name == "quick");
  CHECK(to_json(load_config("quick-plain")) == to_json(load_config("quick")));
}

TEST_CASE("nanogpt-cpu is nanoGPT's recipe for a CPU") {
  check_options(load_config("nanogpt-cpu").config, R"({
    "model": {"n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "dropout": 0.0, "bias": false,
              "activation": "gelu", "position": "learned", "tie_weights": true},
    "train": {"batch_size": 12, "max_iters": 2000, "learning_rate": 1e-3, "min_lr": 1e-4, "lr_schedule": "cosine",
              "warmup_iters": 100, "beta2": 0.99, "weight_decay": 0.1, "grad_clip": 1.0}})");
}

TEST_CASE("every rung of the ladder trains as the lesson does") {
  for (const Preset& preset : presets()) {
    if (!preset.name.starts_with("ladder/")) continue;
    INFO(preset.name);
    const Config config = load_config(preset.name).config;
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
