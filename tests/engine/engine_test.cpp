#include "engine/engine.h"

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>

#include "base/error.h"
#include "failure.h"
#include "model/first_model.h"
#include "model/language_model.h"
#include "model_in_training.h"
#include "tiny_arena.h"
#include "windows_of.h"

#include "test.h"

using namespace chargpt;

namespace {

/// Embedding -> LayerNorm -> Linear, with a head that is the embedding's own matrix: ids (B, T) -> logits (B, T, V).
class TiedModel : public LanguageModel {
 public:
  explicit TiedModel(const ModelConfig& config = {}, std::int64_t vocab_size = 7, std::int64_t width = 5)
      : LanguageModel(config, vocab_size) {
    const torch::NoGradGuard no_grad;
    wte = register_module("wte", torch::nn::Embedding(vocab_size, width));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    linear = register_module("linear", torch::nn::Linear(width, width));
    double phase = 0;  // weights from a formula: sin(1), sin(2), …
    for (torch::Tensor& parameter : parameters()) {
      parameter.copy_(
          torch::sin(torch::arange(1, parameter.numel() + 1, torch::kFloat32) + phase).view(parameter.sizes()));
      phase += 0.5;
    }
  }
  torch::Tensor forward(const torch::Tensor& ids, ForwardPass pass = {}) override {
    if (pass.dropout) last_key = *pass.dropout;
    const torch::Tensor x = linear(norm(wte(ids)));  // (B, T) -> (B, T, C)
    last_dtype = x.scalar_type();
    return torch::matmul(x, wte->weight.t());  // (B, T, C) x (C, V) -> (B, T, V)
  }

  torch::nn::Embedding wte{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear linear{nullptr};
  DropoutKey last_key;
  torch::ScalarType last_dtype = torch::kFloat32;
};

/// Windows of ids that follow a formula, different for each `index`.
WindowBatch formula_batch(std::int64_t index, std::int64_t rows, std::int64_t block_size, std::int64_t vocab_size) {
  const torch::Tensor ids = (torch::arange(rows * (block_size + 1), torch::kInt64) * 5 + index * 3)
                                .remainder(vocab_size)
                                .view({rows, block_size + 1});
  return windows_of(ids);
}

struct Setup : ModelInTraining {
  explicit Setup(const TrainConfig& train = {})
      : ModelInTraining(std::make_shared<TiedModel>(), "libtorch", train), tied(static_cast<TiedModel&>(*model)) {}
  TiedModel& tied;
};

bool shares_memory(const torch::Tensor& view, const cpu::AlignedFloats& buffer) {
  const auto* at = view.const_data_ptr<float>();
  return at >= buffer.data() && at + view.numel() <= buffer.data() + buffer.size();
}

}  // namespace

TEST_CASE_METHOD(Setup, "weights and gradients stay views of the arena's buffers after steps, tied ones too") {
  for (int round = 0; round < 2; ++round) {
    step(round, {formula_batch(0, 2, 3, 7)});
    for (const auto& item : model->named_parameters()) {
      INFO(item.key() << " in round " << round);
      CHECK(shares_memory(item.value(), arena.values));
      CHECK(shares_memory(item.value().grad(), arena.gradients));
      CHECK(item.value().grad().abs().sum().item<float>() > 0);
    }
  }
}

TEST_CASE("a module is refused whose parameters are not the arena's") {
  const ModelConfig config;
  ParameterArena arena({{.name = "wte.weight", .shape = {7, 5}}}, Decay::matrices, {});
  const EngineRequest request{.model = config, .vocab_size = 7, .train = TrainConfig{}, .arena = arena};
  CHECK_THROWS_WITH(make_libtorch_engine(std::make_shared<TiedModel>(), request),
                    "the module has other parameters than the arena");
}

TEST_CASE("engines have the names that users give") {
  CHECK(chosen_engine("auto", Dtype::bfloat16, "cpu") == "cpu");
  CHECK(chosen_engine("cpu", Dtype::float32, "cpu") == "cpu");
  CHECK(chosen_engine("libtorch", Dtype::float32, "cpu") == "libtorch");
  CHECK(chosen_engine("auto", Dtype::float32, "cuda:0") == "libtorch");
  CHECK_THROWS_WITH(chosen_engine("cpu", Dtype::float32, "cuda:0"),
                    "--engine cpu does not support --device cuda:0; use --engine libtorch");
  CHECK_THROWS_WITH(chosen_engine("tpu", {}, "cpu"), "--engine tpu is unknown; there is: auto, cpu, libtorch");
  if (cpu::bf16_kernels() == nullptr)
    CHECK(error_of([] { chosen_engine("cpu", Dtype::bfloat16, "cpu"); }).code == ExitCode::unavailable);
}

TEST_CASE_METHOD(Setup, "the loss is the mean cross-entropy in nats: ln V for equal logits") {
  tensor_of(arena.values).zero_();
  CHECK(step(0, {formula_batch(0, 3, 4, 7)}).loss == Approx(std::log(7.0)));
}

TEST_CASE("score() gives each position's loss, whose mean is the step's, before and after a step") {
  const WindowBatch batch = some_batch(3, 8);
  for (const std::string engine : {"libtorch", "cpu"}) {
    ModelInTraining subject(make_model(small_config(), test_vocab, 1), engine, {});
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
    return subject.engine->gradients({.micro_batches = {&windows, 1}}).loss;
  };
  const double expected = loss({TokenView(wide.data(), 4, 7), starts, 3});
  CHECK(loss({TokenView(narrow.data(), 1, 7), starts, 3}) == expected);
  CHECK(loss({TokenView(middle.data(), 2, 7), starts, 3}) == expected);
  CHECK(loss({TokenView(high.data(), 2, 3), start, 2}) == loss({TokenView(high_wide.data(), 4, 3), start, 2}));
}

TEST_CASE("two micro-batches of 6 are one batch of 12") {
  Setup whole, halves;
  const WindowBatch batch = formula_batch(0, 12, 4, 7);
  const StepResult expected = whole.step(0, {batch}), result = halves.step(0, {batch.part(0, 6), batch.part(6, 6)});
  CHECK(result.loss == Approx(expected.loss).margin(1e-6));
  CHECK(result.grad_norm == Approx(expected.grad_norm).margin(1e-6));
  CHECK((tensor_of(whole.arena.values) - tensor_of(halves.arena.values)).abs().max().item<double>() < 1e-6);
}

TEST_CASE("the gradient norm is reported before clipping") {
  Setup clipped({.grad_clip = 1e-3}), unclipped({.grad_clip = 0});
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  CHECK(clipped.step(0, batches).grad_norm == unclipped.step(0, batches).grad_norm);
}

TEST_CASE_METHOD(Setup, "each micro-batch has its own dropout key") {
  step(9, {formula_batch(0, 1, 4, 7), formula_batch(1, 1, 4, 7)});
  CHECK(tied.last_key.seed == 5);
  CHECK(tied.last_key.step == 9);
  CHECK(tied.last_key.micro_batch == 1);
}

TEST_CASE_METHOD(Setup, "a loss that is not finite changes nothing") {
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  step(0, batches);
  {
    const torch::NoGradGuard no_grad;
    tied.norm->weight.fill_(std::numeric_limits<float>::infinity());
  }
  const ArenaCopy before(arena);
  const StepResult result = step(1, batches);
  CHECK_FALSE(result.updated);
  CHECK_FALSE(std::isfinite(result.loss));
  CHECK(before.has_bits_of(arena));
}

TEST_CASE("bfloat16 rounds the matrix products and keeps the weights") {
  Setup rounded({.dtype = Dtype::bfloat16}), exact;
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  const StepResult result = rounded.step(0, batches), expected = exact.step(0, batches);
  CHECK(rounded.tied.last_dtype == torch::kBFloat16);
  CHECK(result.loss != expected.loss);
  CHECK(result.loss == Approx(expected.loss).epsilon(0.01));  // bfloat16 keeps 8 bits: half a percent
  const StepResult second = rounded.step(1, batches);
  CHECK(second.loss < result.loss);  // the second step sees the updated weights, not rounded copies of the first ones
}

TEST_CASE("float32 is restored after a bfloat16 step") {
  Setup rounded({.dtype = Dtype::bfloat16}), exact;
  rounded.step(0, {formula_batch(0, 3, 4, 7)});
  exact.step(0, {formula_batch(0, 3, 4, 7)});
  CHECK(exact.tied.last_dtype == torch::kFloat32);
}
