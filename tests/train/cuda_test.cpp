// The same training on a GPU. Where there is none these cases are not registered, and one line says so.
#include <torch/types.h>

#include <cmath>
#include <cstdio>

#include "compute/device.h"
#include "generate/generate.h"
#include "small_run.h"

#include "test.h"

using namespace chargpt;

namespace {

ResolvedConfig wider_config(Dtype dtype) {
  ResolvedConfig config = small_config();
  config.config.model.n_embd = 64;
  config.config.model.block_size = 32;
  config.config.model.dropout = 0;
  config.config.train.dtype = dtype;
  config.config.train.max_iters = 20;
  return config;
}

SmallRun gpu_run(const ResolvedConfig& config, const std::filesystem::path& folder = {}, std::int64_t stop_at = -1) {
  return SmallRun(config, folder, stop_at, small_corpus(), "cuda");
}

void same_losses_as_the_cpu() {
  SmallRun cpu(wider_config(Dtype::float32)), gpu = gpu_run(wider_config(Dtype::float32));
  cpu.trainer.run();
  gpu.trainer.run();
  REQUIRE(gpu.recorder->plans[0].device == "cuda:0");
  for (std::size_t i = 0; i < 20; ++i) {
    INFO("step " << i);
    CHECK(gpu.recorder->steps[i].loss == Approx(cpu.recorder->steps[i].loss).margin(1e-4));
  }
}

void tf32_rounds_a_little() {
  SmallRun exact = gpu_run(wider_config(Dtype::float32)), rounded = gpu_run(wider_config(Dtype::tf32));
  exact.trainer.run();
  rounded.trainer.run();
  CHECK(rounded.recorder->losses() != exact.recorder->losses());
  CHECK(rounded.recorder->losses().back() == Approx(exact.recorder->losses().back()).epsilon(0.02));
}

void dropout_trains() {
  ResolvedConfig config = wider_config(Dtype::float32);
  config.config.model.dropout = 0.2;
  config.config.train.max_iters = 60;
  SmallRun gpu = gpu_run(config);
  gpu.trainer.run();
  CHECK(gpu.recorder->evaluations.back().val_loss < gpu.recorder->evaluations.front().val_loss - 0.3);
}

void bfloat16_trains_resumes_and_samples() {
  const TemporaryFolder folder;
  const ResolvedConfig config = wider_config(Dtype::bfloat16);
  SmallRun first = gpu_run(config, folder.path(), 8);
  CHECK(first.trainer.run() == Ending::stopped);
  SmallRun second = gpu_run(config, folder.path());
  second.trainer.resume_from(last_checkpoint(folder.path()));
  CHECK(second.trainer.run() == Ending::finished);
  CHECK(second.recorder->steps.size() == 12);
  CHECK(second.recorder->evaluations.back().val_loss < first.recorder->evaluations.front().val_loss - 0.3);
  CHECK(second.recorder->samples.back().text.size() == 6);
}

void a_gpu_run_goes_on_on_the_cpu() {
  const TemporaryFolder folder;
  SmallRun gpu = gpu_run(wider_config(Dtype::float32), folder.path(), 8);
  gpu.trainer.run();
  SmallRun cpu(wider_config(Dtype::float32), folder.path()), whole(wider_config(Dtype::float32));
  cpu.trainer.resume_from(last_checkpoint(folder.path()));
  cpu.trainer.run();
  whole.trainer.run();
  CHECK(cpu.recorder->noticed("not bit-exact: the device was cuda:0"));
  CHECK(cpu.recorder->losses().back() == Approx(whole.recorder->losses().back()).margin(1e-3));
}

bool register_cuda_tests() {
  if (cuda_device_count() == 0) {
    std::fputs("[cuda] cases skipped: no CUDA device\n", stderr);
    return false;
  }
  REGISTER_TEST_CASE(same_losses_as_the_cpu, "on a GPU, 20 steps in float32 have the CPU's losses", "[cuda]");
  REGISTER_TEST_CASE(tf32_rounds_a_little, "TF32 rounds, and only a little", "[cuda]");
  REGISTER_TEST_CASE(dropout_trains, "dropout trains on a GPU", "[cuda]");
  REGISTER_TEST_CASE(bfloat16_trains_resumes_and_samples, "in bfloat16 a GPU trains, resumes and samples", "[cuda]");
  REGISTER_TEST_CASE(a_gpu_run_goes_on_on_the_cpu, "a run begun on a GPU goes on on the CPU", "[cuda]");
  return true;
}
[[maybe_unused]] const bool registered = register_cuda_tests();

}  // namespace
