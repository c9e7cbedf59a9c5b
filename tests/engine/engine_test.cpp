#include "engine/engine.h"

#include <cmath>

#include "base/error.h"
#include "tiny_model.h"

#include "learner/step.h"
#include "model/registry.h"
#include "test.h"

using namespace chargpt;

namespace {

struct Setup {
  explicit Setup(const TrainConfig& train_in = {})
      : train(train_in), arena(model, train), engine(make_engine("autograd", model, arena, train)) {}
  StepResult step(std::int64_t number, const std::vector<WindowBatch>& batches) {
    return make_step(*engine, arena, train, 1, {.step = number, .seed = 5, .micro_batches = batches});
  }
  TrainConfig train;
  TiedModel model;
  ParameterArena arena;
  std::unique_ptr<Engine> engine;
};

}  // namespace

TEST_CASE("an unknown engine is refused with those there are") {
  TiedModel model;
  ParameterArena arena(model, {});
  CHECK_THROWS_WITH(make_engine("tpu", model, arena, {}),
                    "--engine tpu is unknown; there is: auto, autograd, cpu, cuda");
}

TEST_CASE("the loss is the mean cross-entropy in nats: ln V for equal logits") {
  Setup setup;
  for (ParameterGroup& group : setup.arena.groups()) group.values.zero_();
  CHECK(setup.step(0, {formula_batch(0, 3, 4, 7)}).loss == Approx(std::log(7.0)));
}

TEST_CASE("score() gives each position's, and their mean is the step's loss") {
  Setup setup;
  const WindowBatch batch = formula_batch(0, 3, 4, 7);
  const torch::Tensor losses = losses_of(*setup.engine, batch);
  CHECK(setup.step(0, {batch}).loss == Approx(losses.mean().item<double>()));
}

TEST_CASE("ids are read as they are stored: 1, 2 or 4 bytes, without a sign") {
  const std::vector<std::uint8_t> narrow{0, 1, 6, 3, 200, 255, 2};
  const std::vector<std::uint16_t> middle{0, 1, 6, 3, 200, 255, 2}, high{40000, 65535, 0};
  const std::vector<std::uint32_t> wide{0, 1, 6, 3, 200, 255, 2}, high_wide{40000, 65535, 0};
  const std::vector<std::int64_t> starts{0, 3}, start{0};
  ModelConfig config;
  config.n_layer = config.n_head = 1;
  config.n_embd = 4;
  config.block_size = 3;
  const auto model = make_model(config, 65536, 1);
  ParameterArena arena(*model, {});
  const auto engine = make_engine("autograd", *model, arena, {});
  const torch::Tensor expected = losses_of(*engine, {TokenView(wide.data(), 4, 7), starts, 3});
  CHECK(torch::equal(losses_of(*engine, {TokenView(narrow.data(), 1, 7), starts, 3}), expected));
  CHECK(torch::equal(losses_of(*engine, {TokenView(middle.data(), 2, 7), starts, 3}), expected));
  CHECK(torch::equal(losses_of(*engine, {TokenView(high.data(), 2, 3), start, 2}),
                     losses_of(*engine, {TokenView(high_wide.data(), 4, 3), start, 2})));
}

TEST_CASE("two micro-batches of 6 are one batch of 12") {
  Setup whole, halves;
  const WindowBatch batch = formula_batch(0, 12, 4, 7);
  const StepResult expected = whole.step(0, {batch}), result = halves.step(0, {batch.part(0, 6), batch.part(6, 6)});
  CHECK(result.loss == Approx(expected.loss).margin(1e-6));
  CHECK(result.grad_norm == Approx(expected.grad_norm).margin(1e-6));
  for (std::size_t i = 0; i < 2; ++i)
    CHECK((whole.arena.groups()[i].values - halves.arena.groups()[i].values).abs().max().item<double>() < 1e-6);
}

TEST_CASE("the gradient norm is reported before clipping") {
  TrainConfig gentle, none;
  gentle.grad_clip = 1e-3;
  none.grad_clip = 0;
  Setup clipped(gentle), unclipped(none);
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  CHECK(clipped.step(0, batches).grad_norm == unclipped.step(0, batches).grad_norm);
}

TEST_CASE("each micro-batch has its own dropout key") {
  Setup setup;
  setup.step(9, {formula_batch(0, 1, 4, 7), formula_batch(1, 1, 4, 7)});
  CHECK(setup.model.last_key.seed == 5);
  CHECK(setup.model.last_key.step == 9);
  CHECK(setup.model.last_key.micro_batch == 1);
}

TEST_CASE("a loss that is not finite changes nothing") {
  Setup setup;
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  setup.step(0, batches);
  {
    const torch::NoGradGuard no_grad;
    setup.model.norm->weight.fill_(std::numeric_limits<float>::infinity());
  }
  const ArenaSnapshot before = setup.arena.snapshot();
  const StepResult result = setup.step(1, batches);
  CHECK_FALSE(result.updated);
  CHECK_FALSE(std::isfinite(result.loss));
  CHECK(torch::equal(setup.arena.groups()[0].values, before.values[0]));
  CHECK(torch::equal(setup.arena.groups()[1].moment1, before.moment1[1]));
  CHECK(torch::equal(setup.arena.groups()[1].moment2, before.moment2[1]));
  CHECK(setup.arena.updates() == before.updates);
}

TEST_CASE("bfloat16 rounds the matrix products and keeps the weights") {
  TrainConfig train;
  train.dtype = Dtype::bfloat16;
  Setup rounded(train), exact;
  const std::vector<WindowBatch> batches{formula_batch(0, 3, 4, 7)};
  const StepResult result = rounded.step(0, batches), expected = exact.step(0, batches);
  CHECK(rounded.model.last_dtype == torch::kBFloat16);
  CHECK(rounded.arena.groups()[0].values.scalar_type() == torch::kFloat32);
  CHECK(result.loss != expected.loss);
  CHECK(result.loss == Approx(expected.loss).epsilon(0.01));  // bfloat16 keeps 8 bits: half a percent
  const StepResult second = rounded.step(1, batches);
  CHECK(second.loss < result.loss);  // the second step sees the updated weights, not rounded copies of the first ones
}

TEST_CASE("a loss is evaluated in float32, whatever the type that training computes in") {
  const WindowBatch batch = formula_batch(0, 3, 4, 7);
  const torch::Tensor expected = losses_of(*Setup().engine, batch);
  for (const Dtype dtype : {Dtype::bfloat16, Dtype::tf32}) {
    TrainConfig train;
    train.dtype = dtype;
    Setup setup(train);
    CHECK(torch::equal(losses_of(*setup.engine, batch), expected));
    CHECK(setup.model.last_dtype == torch::kFloat32);
  }
}

TEST_CASE("float32 is restored after a bfloat16 step") {
  TrainConfig train;
  train.dtype = Dtype::bfloat16;
  Setup rounded(train), exact;
  rounded.step(0, {formula_batch(0, 3, 4, 7)});
  exact.step(0, {formula_batch(0, 3, 4, 7)});
  CHECK(exact.model.last_dtype == torch::kFloat32);
}
