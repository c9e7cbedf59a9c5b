// Recorded steps on a GPU. Where there is none these cases are not registered, and one line says so.
#include <torch/types.h>

#include <set>
#include <stdexcept>

#include "learner_on_device.h"

#include "needs_cuda.h"
#include "test.h"

using namespace chargpt;

namespace {

using Subject = LearnerOnDevice;

Config config_in(Dtype dtype) {
  Config config = config_of_all();
  config.train.dtype = dtype;
  return config;
}

void recorded_steps_are_the_cpus() {
  Config config = config_of_all();
  config.model.dropout = 0;  // its masks are a device's own
  Subject cpu("autograd", config), gpu("cuda", config, "cuda");
  REQUIRE(gpu.learner.device_steps);
  const std::vector<StepResult> expected = cpu.steps(0, 20), got = gpu.steps(0, 20);
  CHECK(gpu.learner.take_notice().empty());  // else it was not recorded
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("step " << i);
    CHECK(got[i].loss == Approx(expected[i].loss).epsilon(1e-3));
  }
  CHECK(relative_difference(state_of(cpu.learner), state_of(gpu.learner)) < 1e-2);
}

void a_recording_does_what_the_step_does() {
  for (const Dtype dtype : {Dtype::float32, Dtype::tf32, Dtype::bfloat16}) {
    INFO(enum_name(dtype));
    Subject recorded("cuda", config_in(dtype), "cuda"), launched("cuda", config_in(dtype), "cuda");
    const std::vector<double> factors(8, 1.0);
    const auto no_recorder = [](const torch::Device&, const std::function<void()>&) -> std::unique_ptr<RecordedWork> {
      throw std::runtime_error("one by one");
    };
    CHECK(losses_of(recorded.at_once(factors)) == losses_of(launched.at_once(factors, no_recorder)));
    CHECK(torch::equal(state_of(recorded.learner), state_of(launched.learner)));
  }
}

void each_repeat_has_a_mask_of_its_own() {
  Config config = config_of_all();
  config.model.dropout = 0.5;
  config.train.gradient_accumulation_steps = 1;
  Subject gpu("cuda", config, "cuda");
  const std::vector<double> nothing(8, 0.0);  // no weight moves
  const std::vector<std::int64_t> first = gpu.learner.batches.starts(0);
  const WindowBatch same = gpu.learner.batches.micro_batches(first).front();
  std::vector<std::int64_t> starts;
  for (int i = 0; i < 8; ++i) starts.insert(starts.end(), first.begin(), first.end());
  DeviceSteps steps(*gpu.learner.engine->recordable(), gpu.learner.arena, gpu.learner.averages, config.train);
  const std::vector<double> losses = losses_of(steps.take(0, nothing, {same.tokens, same.T, same.B(), 1, starts}));
  CHECK(std::set<double>(losses.begin(), losses.end()).size() == 8);
  CHECK(losses_of(steps.take(0, nothing, {same.tokens, same.T, same.B(), 1, starts})) == losses);
}

bool register_cuda_tests() {
  if (!cuda_is_there()) return false;
  REGISTER_TEST_CASE(recorded_steps_are_the_cpus, "recorded steps on a GPU have the CPU's losses", "[cuda]");
  REGISTER_TEST_CASE(a_recording_does_what_the_step_does, "a recorded step has the bits of the step", "[cuda]");
  REGISTER_TEST_CASE(each_repeat_has_a_mask_of_its_own, "each repeat of a step draws its own masks", "[cuda]");
  return true;
}
[[maybe_unused]] const bool registered = register_cuda_tests();

}  // namespace
