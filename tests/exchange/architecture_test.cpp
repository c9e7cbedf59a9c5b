// Which models other programs' architectures hold, by one option at a time.
#include "exchange/architecture.h"

#include <initializer_list>
#include <string>

#include "config/load.h"
#include "test.h"

namespace chargpt {
namespace {

struct InTheWay {
  std::string option;
  void (*change)(ModelConfig& config);
};

void check_each(const std::string& preset, Architecture architecture, std::initializer_list<InTheWay> options) {
  const ModelConfig held = load_config(preset).config.model;
  CHECK(architecture_of(held) == architecture);
  for (const auto& [option, change] : options) {
    INFO(option);
    ModelConfig config = held;
    change(config);
    const auto obstacle = obstacle_to_architecture(config);
    REQUIRE(obstacle);
    CHECK(obstacle->option == option);
    CHECK(architecture_of(config) == Architecture::chargpt);
  }
}

TEST_CASE("each option that GPT-2 does not compute is in the way of it") {
  check_each("nanogpt-cpu", Architecture::gpt2,
             {{"conv_places", [](ModelConfig& config) { config.conv_places = {Place::mlp}; }},
              {"norm", [](ModelConfig& config) { config.norm = Norm::rmsnorm; }},
              {"norm_place", [](ModelConfig& config) { config.norm_place = NormPlace::post; }},
              {"final_norm", [](ModelConfig& config) { config.final_norm = false; }},
              {"feed_forward", [](ModelConfig& config) { config.feed_forward = false; }},
              {"output_projection", [](ModelConfig& config) { config.output_projection = false; }},
              {"bias_places", [](ModelConfig& config) { config.bias = true, config.bias_places = {Place::head}; }},
              {"attention_scale", [](ModelConfig& config) { config.attention_scale = AttentionScale::width; }},
              {"qk_norm", [](ModelConfig& config) { config.qk_norm = true; }},
              {"activation", [](ModelConfig& config) { config.activation = Activation::swiglu; }},
              {"head_size", [](ModelConfig& config) { config.head_size = config.n_embd / config.n_head + 2; }},
              {"position", [](ModelConfig& config) { config.position = Position::sinusoidal; }}});
}

TEST_CASE("each option that Qwen3 does not compute is in the way of it") {
  check_each("standard", Architecture::qwen3,
             {{"norm", [](ModelConfig& config) { config.norm = Norm::layernorm; }},
              {"activation", [](ModelConfig& config) { config.activation = Activation::gelu; }},
              {"attention_scale", [](ModelConfig& config) { config.attention_scale = AttentionScale::none; }},
              {"bias_places", [](ModelConfig& config) { config.bias = true, config.bias_places = {Place::mlp}; }}});
}

}  // namespace
}  // namespace chargpt
