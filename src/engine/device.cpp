#include "engine/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <charconv>
#include <fstream>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 13)
#include <c10/core/CachingDeviceAllocator.h>
#define CHARGPT_HAS_MEMORY_INFO 1
#endif

#include "base/error.h"
#include "kernels/kernels.h"
#include "kernels/thread_team.h"

namespace chargpt {
namespace {

/// The driver's version, as the kernel module itself tells it; empty: none is loaded.
std::string nvidia_driver() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string why_no_gpu() {
  if (!at::globalContext().hasCUDA()) return "this program was built with a LibTorch without CUDA";
  const std::string driver = nvidia_driver();
  if (driver.empty()) return "no GPU with a working driver was found";
  return "NVIDIA's driver " + driver +
         " is there, but LibTorch " TORCH_VERSION
         " cannot use it (too old, or no GPU of this process); install a newer one, or see what nvidia-smi says";
}

Error no_such_device(const std::string& name) {
  const std::int64_t count = cuda_device_count();
  if (count > 0)
    return {ExitCode::unavailable, "--device " + name + ": there are only " + std::to_string(count) +
                                       " CUDA devices, numbered from cuda:0; choose one of those"};
  return {ExitCode::unavailable, "--device " + name + ": " + why_no_gpu() + "; use --device cpu or auto"};
}

/// The N of "cuda:N"; 0 for "cuda"; -1 for anything else.
std::int64_t cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  if (name.rfind("cuda:", 0) != 0) return -1;
  std::int64_t index = -1;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data() + 5, end, index);
  return failure == std::errc{} && rest == end ? index : -1;
}

}  // namespace

std::int64_t cuda_device_count() {
  return torch::cuda::is_available() ? torch::cuda::device_count() : 0;
}

torch::Device choose_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  if (name == "auto") return cuda_device_count() > 0 ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  const std::int64_t index = cuda_index(name);
  if (index < 0) throw Error(ExitCode::usage, "--device " + name + ": not a device; use auto, cpu, cuda or cuda:N");
  if (index >= cuda_device_count()) throw no_such_device(name);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

bool is_device_here(const std::string& name) {
  return name == "cpu" || name == "auto" || (cuda_index(name) >= 0 && cuda_index(name) < cuda_device_count());
}

std::string device_name(const torch::Device& device) {
  return device.str();
}

std::int64_t set_threads(std::int64_t threads) {
  const int count = thread_count(threads);
  at::globalContext().setFlushDenormal(true);
  cpu::check_threads(count);
  at::set_num_threads(count);
  at::parallel_for(0, count, 1, [](std::int64_t, std::int64_t) {});  // OpenMP's are started now, while there is room
  return at::get_num_threads();
}

std::optional<std::int64_t> device_memory(const torch::Device& device) {
#ifdef CHARGPT_HAS_MEMORY_INFO
  if (!device.is_cpu())
    return static_cast<std::int64_t>(at::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).second);
#endif
  return std::nullopt;
}

void synchronize(const torch::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

std::string cpu_capability() {
  const std::string of_libtorch = at::get_cpu_capability();
  const bool same = of_libtorch == kernels_capability();
  return same ? of_libtorch : of_libtorch + ", kernels " + cpu::kernels().name;
}

std::string libtorch_version() {
  return TORCH_VERSION;
}

}  // namespace chargpt
