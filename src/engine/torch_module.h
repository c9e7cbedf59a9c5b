// The LibTorch plug-in, a separate library that is loaded on first use: a table of its functions. Independent of
// LibTorch's headers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"

namespace chargpt {

struct TorchModule {
  std::unique_ptr<Engine> (*make_engine)(const EngineRequest& request);
  std::int64_t (*cuda_devices)();  ///< number of CUDA devices that it can use
  std::string (*why_no_cuda)();    ///< the reason if cuda_devices() is 0
  /// Total memory of a GPU in bytes, used or free. Returns nullopt if LibTorch does not report it.
  std::optional<std::int64_t> (*device_memory)(const std::string& device);
  std::string (*capability)(const std::string& device);  ///< "AVX512", "NVIDIA H200, driver 580.159.04"
};
using GetTorchModule = const TorchModule*();
inline constexpr const char* get_torch_module_name = "chargpt_torch_module_2";

/// The LibTorch version at build time, "2.13.0", without loading the plug-in; "none" if the plug-in is missing.
std::string libtorch_version();
/// True if the plug-in is next to the program, or use_torch_module() was called.
bool has_torch_module();
/// Loads the plug-in. Throws Error unavailable if that fails; `what` ("--engine libtorch") starts the message.
const TorchModule& torch_module(const std::string& what);
/// Sets the table instead of loading a library: for programs that link LibTorch themselves.
void use_torch_module(const TorchModule& module);

}  // namespace chargpt
