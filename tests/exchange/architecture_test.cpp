// Which models other programs' architectures hold, by one option at a time.
#include "exchange/architecture.h"

#include <initializer_list>
#include <string>

#include "config/load.h"
#include "network/model_types.h"
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
    const auto obstacle = obstacle_to(config, architecture);
    REQUIRE(obstacle);
    CHECK_THAT(*obstacle, Catch::StartsWith("model." + option + " = "));
    CHECK(architecture_of(config) == Architecture::chargpt);
    CHECK_FALSE(obstacle_to(config, Architecture::chargpt));
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

TEST_CASE("an obstacle says what the option would become") {
  ModelConfig config = load_config("nanogpt-cpu").config.model;
  config.norm = Norm::rmsnorm;
  CHECK(*obstacle_to(config, Architecture::gpt2) ==
        "model.norm = \"rmsnorm\" cannot be stored as gpt2 (it would become \"layernorm\")");
  CHECK(*obstacle_to(load_config("ladder/bigram").config.model, Architecture::chargpt) ==
        "model.type = \"bigram\" cannot be stored as a model of transformers (it would become \"gpt\")");
}

TEST_CASE("theirs has every gain and bias that the architecture has") {
  ModelConfig config = load_config("nanogpt-cpu").config.model;
  config.norm_gain = false;
  const ModelConfig gpt2 = as_theirs(config, Architecture::gpt2);
  CHECK((gpt2.bias && gpt2.norm_gain && gpt2.bias_places == ModelConfig().bias_places));
  config = load_config("standard").config.model;
  config.bias = true;
  config.bias_places = {Place::attention};
  const ModelConfig qwen3 = as_theirs(config, Architecture::qwen3);
  CHECK((qwen3.norm_gain && qwen3.qk_norm && has_bias(qwen3, Place::attention_output)));
  CHECK_FALSE(has_bias(qwen3, Place::mlp));
}

// The defaults of GPT2Config(), LlamaConfig() and Qwen3Config() in transformers.
TEST_CASE("what a config leaves out, or gives as null, has the default of transformers") {
  const nlohmann::json config = {{"n_positions", nullptr}, {"hidden_size", nullptr}};
  const auto read = [&](Architecture architecture) { return to_ours({config, "theirs"}, architecture).dump(); };
  CHECK(read(Architecture::gpt2) ==
        R"({"type":"gpt","n_layer":12,"n_head":12,"n_embd":768,"block_size":1024,"dropout":0.1,"dropout_places":)"
        R"(["embedding","attention","attention_output","mlp"],"bias":true,"bias_places":["attention",)"
        R"("attention_output","mlp","norm"],"norm":"layernorm","norm_eps":1e-05,"position":"learned",)"
        R"("activation":"gelu_tanh","attention_scale":"head","tie_weights":true})");
  const std::string begin = R"({"type":"gpt","n_layer":32,"n_head":32,"n_embd":4096,"block_size":)";
  const std::string end = R"("bias":true,"bias_places":["norm"],"norm":"rmsnorm","norm_eps":1e-06,"position":"rope",)"
                          R"("rope_base":10000,"activation":"swiglu","tie_weights":false)";
  CHECK(read(Architecture::llama) == begin + R"(2048,"mlp_size":11008,)" + end + "}");
  CHECK(read(Architecture::qwen3) ==
        begin + R"(32768,"head_size":128,"mlp_size":22016,)" + end + R"(,"qk_norm":true})");
}

}  // namespace
}  // namespace chargpt
