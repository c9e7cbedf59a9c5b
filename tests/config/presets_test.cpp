#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "config/expected.h"
#include "config/load.h"
#include "source_path.h"
#include "test.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

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
  const Config config = load_config("nanogpt-cpu").config;
  CHECK(config.model.n_layer == 4);
  CHECK(config.model.n_head == 4);
  CHECK(config.model.n_embd == 128);
  CHECK(config.model.block_size == 64);
  CHECK(config.model.dropout == 0.0);
  CHECK_FALSE(config.model.bias);
  CHECK(config.model.activation == Activation::gelu);
  CHECK(config.model.position == Position::learned);
  CHECK(config.model.tie_weights);
  CHECK(config.train.batch_size == 12);
  CHECK(config.train.max_iters == 2000);
  CHECK(config.train.learning_rate == 1e-3);
  CHECK(config.train.min_lr == 1e-4);
  CHECK(config.train.lr_schedule == LrSchedule::cosine);
  CHECK(config.train.warmup_iters == 100);
  CHECK(config.train.beta2 == 0.99);
  CHECK(config.train.weight_decay == 0.1);
  CHECK(config.train.grad_clip == 1.0);
}

TEST_CASE("every rung of the ladder trains as the lesson does") {
  for (const Preset& preset : presets()) {
    if (!preset.name.starts_with("ladder/")) continue;
    INFO(preset.name);
    const Config config = load_config(preset.name).config;
    CHECK(config.model.n_embd == 64);
    CHECK(config.model.block_size == 8);
    CHECK(config.model.tie_weights == (config.model.type != "gpt"));  // the others always have a head of their own
    CHECK(config.model.init == Init::pytorch);
    CHECK(config.model.decay == Decay::all);
    CHECK(config.train.batch_size == 128);
    CHECK(config.train.learning_rate == 1e-3);
    CHECK(config.train.lr_schedule == LrSchedule::constant);
    CHECK(config.train.warmup_iters == 0);
    CHECK(config.train.weight_decay == 0.01);
    CHECK(config.train.beta1 == 0.9);
    CHECK(config.train.beta2 == 0.999);
    CHECK(config.train.adam_eps == 1e-8);
    CHECK(config.train.grad_clip == 0.0);
    CHECK(config.train.windows == Windows::random);
    CHECK(config.train.max_iters == (config.model.type == "gpt" ? 8500 : 2000));
  }
  CHECK_FALSE(load_config("ladder/average").config.model.causal);
  CHECK(load_config("ladder/average-causal").config.model.causal);
}

}  // namespace
}  // namespace chargpt
