// The same training on a GPU. Where there is none these cases are not registered, and one line says so.

#include "engine/device.h"
#include "small_run.h"

#include "needs_cuda.h"

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

CUDA_CASE(same_losses_as_the_cpu, "on a GPU, 20 steps in float32 have the CPU's losses", "[cuda]") {
  EndedRun cpu(wider_config(Dtype::float32));
  SmallRun gpu = gpu_run(wider_config(Dtype::float32));
  gpu.trainer.run();
  REQUIRE(gpu.recorder->plans[0].device == "cuda:0");
  REQUIRE(gpu.recorder->plans[0].engine == "libtorch");
  for (std::size_t i = 0; i < 20; ++i) {
    INFO("step " << i);
    CHECK(gpu.recorder->steps[i].loss == Approx(cpu.recorder->steps[i].loss).margin(1e-4));
  }
}

CUDA_CASE(bfloat16_trains_resumes_and_samples, "in bfloat16 a GPU trains, resumes and samples", "[cuda]") {
  const TestFolder folder;
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

/// A run that begins on one device and goes on on another ends as one on the CPU does.
void check_goes_on(const std::string& from, const std::string& to, const std::string& notice) {
  const TestFolder folder;
  const ResolvedConfig config = wider_config(Dtype::float32);
  EndedRun first(config, folder.path(), 8, small_corpus(), from), whole(config);
  SmallRun rest(config, folder.path(), -1, small_corpus(), to);
  rest.trainer.resume_from(last_checkpoint(folder.path()));
  rest.trainer.run();
  CHECK(rest.recorder->noticed(notice));
  CHECK(rest.recorder->losses().back() == Approx(whole.recorder->losses().back()).margin(1e-3));
}

CUDA_CASE(a_gpu_run_goes_on_on_the_cpu, "a run begun on a GPU goes on on the CPU", "[cuda]") {
  check_goes_on("cuda", "cpu", "not bit-exact: the device was cuda:0");
}

CUDA_CASE(a_cpu_run_goes_on_on_a_gpu, "a run begun on the CPU goes on on a GPU", "[cuda]") {
  check_goes_on("cpu", "cuda", "not bit-exact: the device was cpu");
}

/// A run on a GPU, again, and stopped and resumed.
void check_repeats_and_resumes(const ResolvedConfig& config) {
  const TestFolder folder;
  SmallRun whole = gpu_run(config), again = gpu_run(config), first = gpu_run(config, folder.path(), 8);
  whole.trainer.run();
  again.trainer.run();
  REQUIRE(first.trainer.run() == Ending::stopped);
  SmallRun rest = gpu_run(config, folder.path());
  rest.trainer.resume_from(last_checkpoint(folder.path()));
  rest.trainer.run();
  CHECK(again.recorder->losses() == whole.recorder->losses());
  CHECK(joined_rows(first.recorder->losses(), rest.recorder->losses()) == whole.recorder->losses());
  check_equal_bits(whole.trainer.arena(), rest.trainer.arena());
}

CUDA_CASE(repeats_and_resumes_bit_for_bit, "a GPU's runs repeat and resume bit for bit", "[cuda]") {
  for (const Dtype dtype : {Dtype::float32, Dtype::tf32, Dtype::bfloat16})
    for (const double dropout : {0.0, 0.2}) {
      INFO(enum_name(dtype) << ", dropout " << dropout);
      ResolvedConfig config = wider_config(dtype);
      config.config.model.dropout = dropout;
      config.config.train.ema = 0.9;
      config.config.train.groups = {
          {.match = "attn|mlp", .learning_rate = 1e-2, .weight_decay = 0, .optimizer = UpdateRule::muon}};
      check_repeats_and_resumes(config);
    }
}

}  // namespace
