#include "engine/engine.h"

#include <torch/types.h>

#include "base/error.h"
#include "failure.h"
#include "kernels/bf16.h"
#include "model_in_training.h"

#include "test.h"

using namespace chargpt;

namespace {

struct Subject : ModelInTraining {
  explicit Subject(const TrainConfig& train = {}, const std::string& engine_name = "libtorch")
      : ModelInTraining(make_model(small_config(), test_vocab, 1), engine_name, train) {}
};

}  // namespace

TEST_CASE("a module is refused whose parameters are not the arena's") {
  const ModelConfig config = small_config();
  ParameterArena arena({{.name = "transformer.wte.weight", .shape = {test_vocab, 24}}}, Decay::matrices, {});
  const EngineRequest request{.model = config, .vocab_size = test_vocab, .train = TrainConfig{}, .arena = arena};
  CHECK_THROWS_WITH(make_libtorch_engine(make_model(config, test_vocab, 1), request),
                    "the module's parameters differ from the arena's");
}

TEST_CASE("engines have the names that users give") {
  CHECK(chosen_engine("auto", Dtype::bfloat16, "cpu") == "cpu");
  CHECK(chosen_engine("cpu", Dtype::float32, "cpu") == "cpu");
  CHECK(chosen_engine("libtorch", Dtype::float32, "cpu") == "libtorch");
  CHECK(chosen_engine("auto", Dtype::float32, "cuda:0") == "libtorch");
  CHECK_THROWS_WITH(chosen_engine("cpu", Dtype::float32, "cuda:0"),
                    "--engine cpu does not support --device cuda:0; use --engine libtorch");
  CHECK_THROWS_WITH(chosen_engine("tpu", {}, "cpu"), "--engine tpu is unknown; use one of: auto, cpu, libtorch");
  if (cpu::bf16_kernels() == nullptr)
    CHECK(error_of([] { chosen_engine("cpu", Dtype::bfloat16, "cpu"); }).code == ExitCode::unavailable);
}

TEST_CASE("score() gives each position's loss, whose mean is the step's, before and after a step") {
  const WindowBatch batch = some_batch(3, 8);
  for (const std::string engine : {"libtorch", "cpu"}) {
    Subject subject({}, engine);
    for (const std::int64_t step : {0, 1}) {
      const torch::Tensor losses = losses_of(*subject.engine, batch);
      CHECK(subject.step(step, {batch}).loss == Approx(losses.mean().item<double>()));
    }
  }
}

TEST_CASE("ids are read as they are stored: 1, 2 or 4 bytes, without a sign") {
  const std::vector<std::uint8_t> narrow{0, 1, 6, 3, 200, 255, 2};
  const std::vector<std::uint16_t> middle{0, 1, 6, 3, 200, 255, 2}, high{40000, 65535, 0};
  const std::vector<std::uint32_t> wide{0, 1, 6, 3, 200, 255, 2}, high_wide{40000, 65535, 0};
  const std::vector<std::int64_t> starts{0, 3}, start{0};
  const ModelConfig config{.n_layer = 1, .n_head = 1, .n_embd = 4, .block_size = 3};
  const ModelInTraining subject(make_model(config, 65536, 1), "libtorch", {});
  const auto loss = [&](const WindowBatch& windows) {
    return subject.engine->gradients({.micro_batches = {&windows, 1}, .tokens = windows.counted()}).loss;
  };
  const double expected = loss({TokenView(wide.data(), 4, 7), starts, 3});
  CHECK(loss({TokenView(narrow.data(), 1, 7), starts, 3}) == expected);
  CHECK(loss({TokenView(middle.data(), 2, 7), starts, 3}) == expected);
  CHECK(loss({TokenView(high.data(), 2, 3), start, 2}) == loss({TokenView(high_wide.data(), 4, 3), start, 2}));
}

TEST_CASE("bfloat16 rounds the matrix products and keeps the weights") {
  const std::vector<WindowBatch> batches{some_batch(3, 8)};
  const double exact = Subject().step(0, batches).loss;
  Subject rounded({.dtype = Dtype::bfloat16});
  const Gradients result = rounded.step(0, batches);
  CHECK(result.loss != exact);
  CHECK(result.loss == Approx(exact).epsilon(0.01));   // bfloat16 keeps 8 bits: half a percent
  CHECK(rounded.step(1, batches).loss < result.loss);  // by the updated weights, not by rounded copies of the first
}
