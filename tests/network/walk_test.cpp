// The walk through a window ends where scoring does, for every model; tests/cli checks its steps by their own
// arithmetic.
#include "network/walk.h"

#include <numeric>

#include "base/error.h"
#include "network/drawn_model.h"
#include "predict/network.h"
#include "test.h"

namespace chargpt {
namespace {

TEST_CASE("a walk's logits are those of the window, and every parameter is counted once") {
  for (const auto& [name, config] : all_variants()) {
    INFO(name);
    const DrawnModel drawn(config);
    const Ids ids = {1, 5, 2, 5};
    const std::vector<Operation> operations = walk(drawn.model, ids);
    REQUIRE(operations.size() >= 3);
    const Operation &logits = operations[operations.size() - 2], &probabilities = operations.back();
    CHECK(logits.name == "logits");
    std::vector<std::uint32_t> stored(ids.begin(), ids.end());
    stored.push_back(0);  // a target
    std::vector<float> scored(logits.values.size());
    const std::int64_t start = 0, T = std::ssize(ids);
    NetworkPredictor(drawn.model, 1)
        .logits({TokenView(stored.data(), sizeof stored[0], T + 1), {&start, 1}, T}, scored);
    CHECK(logits.values == scored);
    CHECK(std::accumulate(probabilities.values.begin(), probabilities.values.end(), 0.0) == Approx(1));
    std::int64_t parameters = 0;
    for (const Operation& operation : operations) {
      parameters += operation.parameters;
      CHECK(std::ssize(operation.values) == operation.shape[0] * operation.shape[1]);
    }
    CHECK(parameters == count_parameters(config, test_vocab));
  }
}

std::string formula_of(const std::string& name, const ModelConfig& config) {
  const DrawnModel drawn(config);
  for (const Operation& operation : walk(drawn.model, Ids{1, 2}))
    if (operation.name == name) return operation.formula;
  return "none";
}

TEST_CASE("scores are shown with their scale, equal weights with how many share them, logits with the head's bias") {
  const auto scores = [](AttentionScale scale) {
    ModelConfig config = small_config();
    config.attention_scale = scale;
    return formula_of("scores of the last token", config);
  };
  CHECK_THAT(scores(AttentionScale::none), Catch::StartsWith("q · k_s, of s"));
  CHECK_THAT(scores(AttentionScale::head), Catch::StartsWith("q · k_s / sqrt(hs), of s"));
  CHECK_THAT(scores(AttentionScale::width), Catch::StartsWith("q · k_s / sqrt(C), of s"));

  ModelConfig average = small_config("average");
  CHECK_THAT(formula_of("weights of the last token", average), Catch::StartsWith("1 / t each"));
  average.causal = false;
  CHECK_THAT(formula_of("weights of the last token", average), Catch::StartsWith("1 / T each"));

  ModelConfig gpt = small_config();
  const auto logits = [](const ModelConfig& config) { return formula_of("logits", config); };
  CHECK(logits(small_config("bigram")) == "W x + b");
  CHECK(logits(gpt) == "wte n, with the matrix of the token embedding");
  gpt.bias = true;
  gpt.bias_places = {Place::head};
  CHECK(logits(gpt) == "wte n + b, with the matrix of the token embedding");
  gpt.tie_weights = false;
  CHECK(logits(gpt) == "W n + b");
}

TEST_CASE("a norm is shown with the gain and the bias that it has") {
  const auto formula = [](bool gain, bool bias, Norm norm) {
    ModelConfig config = small_config();
    config.norm = norm;
    config.norm_gain = gain;
    config.bias = bias;
    return formula_of("norm", config);
  };
  const std::string centred = "n = (x - mean(x)) / sqrt(var(x) + eps)";
  CHECK(formula(true, true, Norm::layernorm) == centred + " * gain + bias");
  CHECK(formula(true, false, Norm::layernorm) == centred + " * gain");
  CHECK(formula(false, false, Norm::layernorm) == centred);
  CHECK(formula(true, false, Norm::rmsnorm) == "n = x / sqrt(mean(x²) + eps) * gain");
}

TEST_CASE_METHOD(DrawnModel, "a walk of no ids, too many or unknown ones is an error") {
  CHECK_THROWS_AS(walk(model, Ids{}), Error);
  CHECK_THROWS_AS(walk(model, Ids(9, 0)), Error);
  CHECK_THROWS_AS(walk(model, Ids{test_vocab}), Error);
}

}  // namespace
}  // namespace chargpt
