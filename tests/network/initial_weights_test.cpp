// First weights: their distribution, and what they are a function of.
#include "network/initial_weights.h"

#include <map>
#include <span>

#include "network/layers.h"
#include "test.h"

using namespace chargpt;

namespace {

constexpr std::uint64_t seed = 7;

ModelConfig eight_layers() {
  return {.n_layer = 8, .n_embd = 256, .bias = true, .tie_weights = false, .conv_places = {Place::attention}};
}

using Weights = std::map<std::string, std::vector<float>>;

Weights weights_of(const ModelConfig& config, std::int64_t vocab_size, std::uint64_t of_seed = seed,
                   const std::vector<std::string>& symbols = {}) {
  const Layers layers = layers_of(config, vocab_size);
  std::vector<float> buffer(static_cast<std::size_t>(layers.floats), -1);
  draw_initial_weights(config, parameter_list(layers), of_seed, symbols, buffer.data());
  Weights weights;
  for_each_parameter(layers, [&](const Parameter& parameter) {
    const std::span<float> values = parameter.in(buffer.data());
    weights[parameter.name].assign(values.begin(), values.end());
  });
  return weights;
}

double std_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

bool all_are(const std::vector<float>& values, float expected) {
  return std::ranges::all_of(values, [expected](float value) { return value == expected; });
}

const std::string block = "transformer.h.3.";

}  // namespace

TEST_CASE("gpt2 initialisation: 0.02, residual layers by 1/sqrt(2 L), biases 0, norms 1 and 0, convolutions 0") {
  for (const auto& [name, weights] : weights_of(eight_layers(), 256)) {
    INFO(name);
    if (name.ends_with("bias") || name.find("conv_") != std::string::npos)
      CHECK(all_are(weights, 0));
    else if (name.find("ln_") != std::string::npos)
      CHECK(all_are(weights, 1));
    else
      CHECK(std_of(weights) == Approx(name.ends_with("c_proj.weight") ? 0.005 : 0.02).epsilon(0.02));
  }
}

TEST_CASE("residual initialisation: zero silences every branch, plain leaves it alone") {
  ModelConfig config = eight_layers();
  config.residual_init = ResidualInit::zero;
  const Weights silent = weights_of(config, 65);
  CHECK(all_are(silent.at(block + "attn.c_proj.weight"), 0));
  CHECK(all_are(silent.at(block + "mlp.c_proj.weight"), 0));
  CHECK(std_of(silent.at(block + "mlp.c_fc.weight")) == Approx(0.02).epsilon(0.02));
  config.residual_init = ResidualInit::plain;
  config.init_std = 0.5;
  CHECK(std_of(weights_of(config, 65).at(block + "attn.c_proj.weight")) == Approx(0.5).epsilon(0.02));
}

TEST_CASE("the attention model's projection ends no residual branch and is never silenced") {
  const ModelConfig config{.type = "attention", .residual_init = ResidualInit::zero};
  CHECK(std_of(weights_of(config, 65).at("attn.c_proj.weight")) == Approx(0.02).epsilon(0.05));
}

TEST_CASE("pytorch initialisation: embeddings N(0, 1), linear weights and biases uniform on +-1/sqrt(in)") {
  ModelConfig config = eight_layers();
  config.init = Init::pytorch;
  const Weights weights = weights_of(config, 256);
  CHECK(std_of(weights.at("transformer.wte.weight")) == Approx(1).epsilon(0.02));
  const std::vector<float>& matrix = weights.at(block + "attn.c_attn.weight");
  CHECK(std_of(matrix) == Approx(1.0 / 16 / std::sqrt(3)).epsilon(0.02));
  CHECK(*std::ranges::max_element(matrix) < 1.0F / 16);
  CHECK(*std::ranges::max_element(matrix) > 0.999F / 16);
  CHECK(*std::ranges::min_element(matrix) < -0.999F / 16);
  CHECK(std_of(weights.at(block + "mlp.c_fc.bias")) == Approx(1.0 / 16 / std::sqrt(3)).epsilon(0.05));
  CHECK(std_of(weights.at(block + "mlp.c_proj.bias")) == Approx(1.0 / 32 / std::sqrt(3)).epsilon(0.1));
  CHECK(all_are(weights.at(block + "ln_1.weight"), 1));
  CHECK(all_are(weights.at(block + "ln_1.bias"), 0));
}

TEST_CASE("weights are a function of seed and name, the same bits on every machine") {
  const std::string name = block + "mlp.c_fc.weight";
  const Weights weights = weights_of(eight_layers(), 5), again = weights_of(eight_layers(), 5);
  CHECK(weights == again);
  CHECK(weights.at(name) != weights.at("transformer.h.4.mlp.c_fc.weight"));
  CHECK(weights.at(name) != weights_of(eight_layers(), 5, seed + 1).at(name));
  ModelConfig fewer = eight_layers();
  fewer.n_layer = 4;
  CHECK(weights.at(name) == weights_of(fewer, 5).at(name));
  CHECK(std::vector<float>(weights.at(name).begin(), weights.at(name).begin() + 3) ==
        std::vector<float>{-0x1.745f7p-5F, -0x1.5c2252p-7F, -0x1.248b96p-7F});
}

TEST_CASE("a symbol's row is its own in any vocabulary, of embedding and head") {
  const Weights few = weights_of(eight_layers(), 2, seed, {"a", "c"}),
                more = weights_of(eight_layers(), 3, seed, {"a", "b", "c"});
  for (const std::string name : {"transformer.wte.weight", "lm_head.weight"}) {
    INFO(name);
    const auto row = [&](const Weights& weights, std::size_t i) {
      const std::span all(weights.at(name));
      return std::vector<float>(all.begin() + static_cast<long>(i) * 256, all.begin() + static_cast<long>(i + 1) * 256);
    };
    CHECK(row(few, 0) == row(more, 0));
    CHECK(row(few, 1) == row(more, 2));
    CHECK(row(few, 1) != row(more, 1));
  }
}
