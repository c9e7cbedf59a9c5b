// The functions that the plug-in provides; see engine/torch_module.h.
#include "libtorch/module.h"

#include <ATen/Context.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cstdlib>
#include <fstream>

#ifdef CHARGPT_CUDA_HEADERS
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

#include "libtorch/engine.h"

namespace chargpt {
namespace {

std::int64_t cuda_devices() {
  return torch::cuda::is_available() ? torch::cuda::device_count() : 0;
}

/// The driver's version from the kernel module; "" if the module is not loaded.
std::string nvidia_driver() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

std::string why_no_cuda() {
#ifndef CHARGPT_CUDA
  return "this program was built with a LibTorch without CUDA";
#else
  const std::string driver = nvidia_driver();
  if (driver.empty()) return "NVIDIA's driver is not loaded";
  return "NVIDIA's driver " + driver +
         " is loaded, but LibTorch " TORCH_VERSION
         " does not find a usable GPU: the driver is too old, or this process has no GPU (see nvidia-smi)";
#endif
}

std::optional<std::int64_t> device_memory([[maybe_unused]] const std::string& device) {
#ifdef CHARGPT_CUDA_HEADERS
  const c10::cuda::CUDAGuard guard{torch::Device(device)};
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) return static_cast<std::int64_t>(total);
#endif
  return std::nullopt;
}

/// "AVX512" for the CPU, "NVIDIA H200, driver 580.159.04" for a GPU.
std::string capability(const std::string& device) {
  if (device == "cpu") return at::get_cpu_capability();
  std::string name = "a GPU";
#ifdef CHARGPT_CUDA_HEADERS
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, torch::Device(device).index()) == cudaSuccess) name = properties.name;
#endif
  return name + ", driver " + nvidia_driver();
}

}  // namespace

const TorchModule& own_torch_module() {
  // CUDA's matrix products are reproducible bit for bit only with workspaces of fixed size; LibTorch reads this setting
  // before the first product. Source: PyTorch's notes on reproducibility.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  static constexpr TorchModule all{.make_engine = make_libtorch_engine,
                                   .cuda_devices = cuda_devices,
                                   .why_no_cuda = why_no_cuda,
                                   .device_memory = device_memory,
                                   .capability = capability};
  return all;
}

}  // namespace chargpt
