#include "engine/device.h"

#include <ATen/Version.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/memory.h"
#include "engine/torch_module.h"
#include "failure.h"
#include "kernels/kernels.h"
#include "kernels/processor.h"
#include "kernels/thread_team.h"

using namespace chargpt;

namespace {

ExitCode code_of(const std::string& device) {
  return error_of([&] { choose_device(device); }).code;
}

}  // namespace

TEST_CASE("devices are chosen by name") {
  CHECK(choose_device("cpu") == "cpu");
  CHECK(choose_device("auto") == (cuda_device_count() > 0 ? "cuda:0" : "cpu"));
  CHECK(choose_device("auto", "cpu") == "cpu");
  for (const char* name : {"gpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "CUDA", "cuda:99999999999999999999"}) {
    INFO(name);
    CHECK(code_of(name) == ExitCode::usage);
  }
  CHECK_THROWS_WITH(choose_device("gpu"), "--device gpu: not a device; use auto, cpu, cuda or cuda:N");
}

TEST_CASE("a CUDA device that is not there is unavailable, with the reason") {
  CHECK(code_of("cuda:" + std::to_string(cuda_device_count())) == ExitCode::unavailable);
  if (cuda_device_count() > 0) return;
  CHECK(code_of("cuda") == ExitCode::unavailable);
  CHECK_THROWS_WITH(choose_device("cuda"),
                    Catch::Contains("--device cuda: ") && Catch::Contains("use --device cpu or auto"));
}

TEST_CASE("a GPU that is asked for by name needs no device file of its driver") {
  const TorchModule& own = torch_module("this test");
  TorchModule with_gpu = own;
  with_gpu.cuda_devices = [] { return std::int64_t{1}; };
  use_torch_module(with_gpu);
  CHECK(choose_device("cuda") == "cuda:0");
  CHECK_THROWS_WITH(choose_device("cuda:1"), "--device cuda:1: no such device; the last one is cuda:0");
  use_torch_module(own);
}

TEST_CASE("threads: as many as asked for, physical cores by default") {
  CHECK(set_threads(1) == 1);
  CHECK(cpu::threads_in_force() == 1);
  CHECK(physical_cores() >= 1);
  CHECK(set_threads(0) == physical_cores());
  CHECK(usable_processors() >= physical_cores());
  CHECK_THROWS_WITH(set_threads(-1), "threads = -1 is not between 0 (one per physical core) and 1024");
  CHECK(thread_count(1024) == 1024);
  CHECK_THROWS_AS(thread_count(1025), Error);
}

TEST_CASE("device names that are there are those that may be chosen") {
  CHECK(is_device_here("cpu"));
  CHECK(is_device_here("auto"));
  for (const char* name : {"", "gpu", "cuda:x", "cuda:-1", "cuda:0\033[31m"}) CHECK_FALSE(is_device_here(name));
  CHECK(is_device_here("cuda") == (cuda_device_count() > 0));
  CHECK_FALSE(is_device_here("cuda:" + std::to_string(cuda_device_count())));
}

TEST_CASE("a limit of the CPU capability that does not hold is taken out of the environment and named once") {
  constexpr const char* variable = "ATEN_CPU_CAPABILITY";
  const char* const before = std::getenv(variable);
  const std::optional<std::string> kept = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  const auto settled = [&](const char* word) {
    setenv(variable, word, 1);
    return settle_cpu_capability();
  };
#if defined(__x86_64__)
  CHECK(settled("avx1024") == "ATEN_CPU_CAPABILITY = avx1024 is ignored; set it to avx512, avx2 or default");
  CHECK(std::getenv(variable) == nullptr);
  CHECK(settle_cpu_capability() == "");
  CHECK(settled("") == "");
  CHECK(std::getenv(variable) == nullptr);
  if (cpu::processor_instruction_set() < cpu::InstructionSet::avx512) {
    CHECK_THAT(settled("avx512"),
               Catch::Contains("ATEN_CPU_CAPABILITY = avx512 is not supported by this processor; using "));
    CHECK(std::string(std::getenv(variable)) != "avx512");
  }
#endif
  const cpu::InstructionSet widest = cpu::processor_instruction_set();
  for (const char* word : {"default", "avx2", "avx512"}) {
    if (*cpu::named_instruction_set(word) > widest) continue;
    INFO(word);
    CHECK(settled(word) == "");
    CHECK(std::string(std::getenv(variable)) == word);
  }
  kept ? setenv(variable, kept->c_str(), 1) : unsetenv(variable);
}

TEST_CASE("LibTorch's version and capability are known, and our kernels have its limit") {
  const TorchModule& torch = torch_module("a test");
  CHECK(libtorch_version().rfind("2.", 0) == 0);
  CHECK_FALSE(torch.capability("cpu").empty());
#if defined(__x86_64__)
  CHECK(torch.capability("cpu") == kernels_capability());
#endif
}

TEST_CASE("running out of memory is told apart and says what to lower") {
  const auto host = as_memory_error(std::bad_alloc());
  REQUIRE(host);
  CHECK(host->code() == ExitCode::memory);
  CHECK(std::string(host->what()).find("batch_size") != std::string::npos);
  CHECK(std::string(host->what()).find("block_size") != std::string::npos);
  CHECK_FALSE(as_memory_error(std::runtime_error("something else")));
  CHECK_FALSE(as_memory_error(c10::Error({__func__, __FILE__, 1}, "shapes do not match")));
  CHECK(as_memory_error(
      c10::OutOfMemoryError({__func__, __FILE__, 1}, "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0")));
}

TEST_CASE("LibTorch's own failure to allocate on the host is a lack of memory") {
  std::optional<Error> error;
  try {
    torch::empty({std::int64_t{1} << 50});
  } catch (const std::exception& failure) {
    error = as_memory_error(failure);
  }
  REQUIRE(error);
  CHECK(std::string(error->what()).find("out of host memory; ") == 0);
}
