// Devices and threads by the names users give them. Knows no model and no configuration.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/processor.h"

namespace chargpt {

/// auto | cpu | cuda | cuda:N. Error unavailable where a CUDA device was asked for and there is none, usage for another
/// name.
torch::Device choose_device(const std::string& name);

/// "cpu", "cuda:0": the spelling that choose_device() reads.
std::string device_name(const torch::Device& device);

/// choose_device() would take it.
bool is_device_here(const std::string& name);

/// CUDA devices that this build of LibTorch can use; 0 without CUDA.
std::int64_t cuda_device_count();

/// Bytes of memory that a GPU has, whoever uses them; none where LibTorch does not say.
std::optional<std::int64_t> device_memory(const torch::Device& device);

/// Sets LibTorch's intra-op threads (0: physical cores) and flush-denormal, before the first parallel region. Returns
/// the number in force. Error usage for a negative or absurd number.
std::int64_t set_threads(std::int64_t threads);

/// Waits for all work queued on `device`; nothing to do on the CPU. For timing.
void synchronize(const torch::Device& device);

/// What LibTorch and our kernels compute with: "AVX512", "AVX2", "DEFAULT"; where the kernels are not those of
/// LibTorch's instruction set, with their name: "AVX512, kernels x86-64-v3".
std::string cpu_capability();
std::string libtorch_version();

}  // namespace chargpt
