// Models, engines and update rules on a GPU against the CPU's. Where there is none these cases are not registered, and
// one line says so.
#include <torch/types.h>

#include "base/memory.h"
#include "engine/device.h"
#include "engine/engine.h"
#include "model/variants.h"

#include "model_in_training.h"
#include "needs_cuda.h"
#include "tiny_arena.h"

using namespace chargpt;

namespace {

struct Subject : ModelInTraining {
  Subject(const ModelConfig& config, const std::string& device, const TrainConfig& train = {})
      : ModelInTraining(disturbed_model(config), "libtorch", train, device) {}
  /// With what the engine has made of it.
  const ParameterArena& current() {
    engine->give_back();
    return arena;
  }
};

/// The largest distance of a group's weights, relative to their norm.
double worst_weights(const ParameterArena& expected, const ParameterArena& got) {
  double worst = 0;
  for (const ParameterGroup& group : expected.groups()) {
    const auto of = [&](const ParameterArena& arena) {
      return tensor_of(arena.values).narrow(0, group.begin, group.size());
    };
    const double error = (of(expected) - of(got)).norm().item<double>() / of(expected).norm().item<double>();
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

CUDA_CASE(every_variant_has_the_cpus_figures, "every variant has the CPU's loss and gradient", "[cuda]") {
  for (const Variant& variant : all_variants()) {
    INFO(variant.name);
    Subject cpu(variant.config, "cpu"), gpu(variant.config, "cuda");
    const std::vector<WindowBatch> batches{some_batch(3, 8), some_batch(2, 5, 7)};
    CHECK(largest_difference(losses_of(*gpu.engine, batches[0]), losses_of(*cpu.engine, batches[0])) < 1e-4);
    const Gradients expected = cpu.step(0, batches), result = gpu.step(0, batches);
    CHECK(result.loss == Approx(expected.loss).epsilon(1e-4));
    CHECK(result.norm == Approx(expected.norm).epsilon(1e-3));
    CHECK(worst_weights(cpu.arena, gpu.current()) <
          1e-2);  // AdamW's first update is a sign: noise about zero shows whole
  }
}

TrainConfig of_every_rule() {
  return {.groups = {{.match = "attn", .learning_rate = 1e-2, .weight_decay = 0.1, .optimizer = UpdateRule::muon},
                     {.match = "mlp", .learning_rate = 1e-2, .weight_decay = 0.1, .optimizer = UpdateRule::muon_rows}}};
}

CUDA_CASE(every_update_rule_goes_the_cpus_way, "every update rule goes the CPU's way", "[cuda]") {
  Subject cpu(small_config(), "cpu", of_every_rule()), gpu(small_config(), "cuda", of_every_rule());
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::vector<WindowBatch> batches{some_batch(4, 8, step)};
    CHECK(gpu.step(step, batches).loss == Approx(cpu.step(step, batches).loss).epsilon(1e-3));
  }
  CHECK(worst_weights(cpu.arena, gpu.current()) < 1e-2);
}

CUDA_CASE(averages_follow_on_the_gpu, "averages follow on a GPU", "[cuda]") {
  Subject cpu(small_config(), "cpu"), gpu(small_config(), "cuda");
  for (Subject* subject : {&cpu, &gpu}) {
    subject->arena.averages = subject->arena.values.copy();
    subject->engine->take_over();
    for (std::int64_t step = 0; step < 3; ++step) {
      subject->step(step, {some_batch(4, 8, step)});
      subject->engine->average(0.9);
    }
    subject->engine->give_back();
    swap_averages(subject->arena);
  }
  CHECK(worst_weights(cpu.arena, gpu.arena) < 1e-2);
}

CUDA_CASE(evaluation_is_float32_whatever_training_computes_in, "a GPU evaluates in float32", "[cuda]") {
  const WindowBatch batch = some_batch(4, 8);
  const torch::Tensor expected = losses_of(*Subject(small_config(), "cpu").engine, batch);
  for (const Dtype dtype : {Dtype::float32, Dtype::tf32, Dtype::bfloat16}) {
    INFO(enum_name(dtype));
    Subject gpu(small_config(), "cuda", {.dtype = dtype});
    CHECK(largest_difference(losses_of(*gpu.engine, batch), expected) < 1e-4);
  }
}

CUDA_CASE(dropout_repeats_and_differs_by_step, "dropout repeats on a GPU, and differs by step", "[cuda]") {
  ModelConfig config = small_config();
  config.dropout = 0.5;
  const auto loss_of_step = [&config](std::int64_t number) {
    return Subject(config, "cuda").step(number, {some_batch(4, 8)}).loss;
  };
  CHECK(loss_of_step(0) == loss_of_step(0));
  CHECK(loss_of_step(0) != loss_of_step(1));
}

CUDA_CASE(a_loss_that_is_not_finite_changes_nothing, "on a GPU too NaN changes nothing", "[cuda]") {
  Subject gpu(small_config(), "cuda");
  values_of(gpu.arena, "transformer.h.0.mlp.c_fc.weight")[0] = std::nanf("");
  gpu.engine->take_over();
  const cpu::AlignedFloats before = gpu.current().values.copy();
  CHECK_FALSE(gpu.step(0, {some_batch(3, 8)}).finite());
  CHECK(equal(gpu.current().values, before));
  CHECK_FALSE(gpu.arena.is_finite());
}

CUDA_CASE(lack_of_memory_is_told_apart, "lack of a GPU's memory is told apart", "[cuda]") {
  std::optional<Error> error;
  try {
    torch::empty({std::int64_t{1} << 44}, torch::TensorOptions().device(choose_device("cuda")));
  } catch (const std::exception& failure) {
    error = as_memory_error(failure);
  }
  REQUIRE(error);
  CHECK(std::string(error->what()).starts_with("out of device memory ("));
}

CUDA_CASE(devices_have_their_names, "devices have their names", "[cuda]") {
  CHECK(choose_device("cuda") == "cuda:0");
  CHECK(choose_device("auto") == "cuda:0");
  CHECK(is_device_here("cuda:0"));
  CHECK_THROWS_WITH(choose_device("cuda:99"), Catch::Contains("no such device; the last one is cuda:"));
}

}  // namespace
