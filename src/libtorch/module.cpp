// What this library offers the program; see engine/torch_module.h.
#include "libtorch/module.h"

#include <ATen/Context.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>

#include <fstream>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 13)
#include <c10/core/CachingDeviceAllocator.h>
#define CHARGPT_HAS_MEMORY_INFO 1
#endif

#include "libtorch/engine.h"

namespace chargpt {
namespace {

std::int64_t cuda_devices() {
  return torch::cuda::is_available() ? torch::cuda::device_count() : 0;
}

/// The driver's version, as the kernel module itself tells it; empty: none is loaded.
std::string nvidia_driver() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string why_no_cuda() {
  if (!at::globalContext().hasCUDA()) return "this program was built with a LibTorch without CUDA";
  const std::string driver = nvidia_driver();
  if (driver.empty()) return "no GPU with a working driver was found";
  return "NVIDIA's driver " + driver +
         " is there, but LibTorch " TORCH_VERSION
         " cannot use it (too old, or no GPU of this process); install a newer one, or see what nvidia-smi says";
}

std::optional<std::int64_t> device_memory([[maybe_unused]] const std::string& device) {
#ifdef CHARGPT_HAS_MEMORY_INFO
  if (const torch::Device on(device); !on.is_cpu())
    return static_cast<std::int64_t>(at::getDeviceAllocator(on.type())->getMemoryInfo(on.index()).second);
#endif
  return std::nullopt;
}

}  // namespace

const TorchModule& own_torch_module() {
  static constexpr TorchModule all{.make_engine = make_libtorch_engine,
                                   .cuda_devices = cuda_devices,
                                   .why_no_cuda = why_no_cuda,
                                   .device_memory = device_memory,
                                   .version = [] { return std::string(TORCH_VERSION); },
                                   .capability = at::get_cpu_capability};
  return all;
}

}  // namespace chargpt
