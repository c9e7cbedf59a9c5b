// Models held for inference against the LibTorch modules of the same weights, over all options and model types.
#include "network/model.h"

#include <ATen/ops/from_blob.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "inference_of.h"
#include "model/attention.h"
#include "model/registry.h"
#include "model/variants.h"
#include "network/plan.h"
#include "network/walk.h"
#include "predict/network.h"

#include "test.h"

using namespace chargpt;

namespace {

std::vector<std::int64_t> ids_of(std::int64_t count, std::int64_t vocab_size) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back((i * i + 3 * i + i / 5) % vocab_size);
  return ids;
}

/// -log of the softmax at the target, by the module.
torch::Tensor expected_losses(LanguageModel& model, const std::vector<std::int64_t>& inputs,
                              const std::vector<std::int64_t>& targets, std::int64_t T) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor logits = model.forward(torch::tensor(inputs).view({-1, T})).to(torch::kFloat64);
  return -logits.log_softmax(-1).gather(-1, torch::tensor(targets).view({-1, T, 1})).flatten();
}

double worst_error(LanguageModel& model, Predictor& scorer, std::int64_t B, std::int64_t T) {
  const std::vector<std::int64_t> all = ids_of(B * T + 1, model.vocab_size());
  const std::vector<std::int64_t> inputs(all.begin(), all.end() - 1), targets(all.begin() + 1, all.end());
  const std::vector<std::uint16_t> text(all.begin(), all.end());
  std::vector<std::int64_t> starts;
  for (std::int64_t b = 0; b < B; ++b) starts.push_back(b * T);
  std::vector<float> losses(inputs.size());
  scorer.score({.tokens = TokenView(text.data(), 2, std::ssize(text)), .starts = starts, .T = T}, losses);
  const torch::Tensor expected = expected_losses(model, inputs, targets, T);
  return (torch::tensor(losses).to(torch::kFloat64) - expected).abs().max().item<double>();
}

/// (layers, nh, T, T)
torch::Tensor inferred_weights(const LanguageModel& model, const std::vector<std::int64_t>& ids) {
  AttentionWeights weights = attention_weights(inference_of(model), ids);
  return at::from_blob(weights.values.data(), {weights.layers, weights.heads, weights.T, weights.T}).clone();
}

template <class Values>
bool equal(const torch::Tensor& expected, const Values& values) {
  return torch::tensor(values, expected.dtype()).view_as(expected).equal(expected);
}

}  // namespace

TEST_CASE("losses are the module's, over all options and model types") {
  REQUIRE(all_variants().size() > 90);
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    const auto model = disturbed_model(variant.config);
    const TestModel inference = inference_of(*model);
    for (const int threads : {1, 3}) {
      NetworkPredictor scorer(inference, threads);
      CHECK(worst_error(*model, scorer, 5, model->block_size()) < 2e-5);
      CHECK(worst_error(*model, scorer, 40, 3) < 2e-5);
      CHECK(worst_error(*model, scorer, 1, 1) < 2e-5);
    }
  }
}

TEST_CASE_METHOD(OneThread, "attention weights are the module's, over all options and model types") {
  std::vector<Variant> variants = all_variants();
  variants.push_back(variant("several tiles and panels", "gpt", [](auto& c) {
    c.block_size = 150, c.n_head = 3, c.head_size = 20, c.position = Position::rope, c.qk_norm = true;
  }));
  int compared = 0;
  for (const Variant& variant : variants) {
    INFO(variant.name);
    const auto model = disturbed_model(variant.config);
    for (const std::int64_t T : {std::int64_t{1}, std::int64_t{5}, model->block_size()}) {
      const torch::NoGradGuard no_grad;
      const std::vector<std::int64_t> ids = ids_of(T, test_vocab);
      AttentionMaps expected;
      model->forward(torch::tensor(ids).view({1, T}), {.attention = &expected});
      const torch::Tensor found = inferred_weights(*model, ids);
      REQUIRE(found.size(0) == std::ssize(expected));
      for (std::size_t layer = 0; layer < expected.size(); ++layer)
        CHECK(largest_difference(found[static_cast<std::int64_t>(layer)], expected[layer][0]) < 1e-5);
      compared += static_cast<int>(expected.size());
    }
  }
  CHECK(compared > 500);
}

TEST_CASE("positions are LibTorch's to the bit") {
  for (const std::int64_t width : {1, 2, 7, 64, 128})
    CHECK(equal(sinusoidal_table(300, width), cpu::sinusoids(300, width)));
  for (const std::int64_t head_size : {2, 6, 32, 64})
    for (const double base : {10000.0, 500.0}) {
      const torch::Tensor angles = rotary_angles(300, head_size, base);
      const cpu::RopeAngles all = cpu::rope_angles(300, head_size, base);
      CHECK(equal(angles.cos().to(torch::kFloat32), all.cosines));
      CHECK(equal(angles.sin().to(torch::kFloat32), all.sines));
      CHECK(equal(angles[1], all.frequencies));
    }
}
