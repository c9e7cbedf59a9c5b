// LibTorch's part of the program, a library of its own that is loaded when it is first asked for: what it offers, as a
// table. Knows nothing of LibTorch itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"

namespace chargpt {

struct TorchModule {
  std::unique_ptr<Engine> (*make_engine)(const EngineRequest& request);
  std::int64_t (*cuda_devices)();  ///< that it can use
  std::string (*why_no_cuda)();    ///< where that is 0
  /// Bytes that a GPU has, whoever uses them; none where LibTorch does not say.
  std::optional<std::int64_t> (*device_memory)(const std::string& device);
  std::string (*version)();
  std::string (*capability)(const std::string& device);  ///< "AVX512", "NVIDIA H200, driver 580.159.04"
};
using GetTorchModule = const TorchModule*();
inline constexpr const char* get_torch_module_name = "chargpt_torch_module_1";

/// "2.13.0": which LibTorch it was built with, without loading it; "none" where it is not there.
std::string libtorch_version();
/// It lies beside the program, or was given.
bool has_torch_module();
/// Loads it. Error unavailable where it cannot be; `what` begins the message: "model.type = bigram".
const TorchModule& torch_module(const std::string& what);
/// Instead of a library: for a program that links LibTorch itself.
void use_torch_module(const TorchModule& module);

}  // namespace chargpt
