// Devices and threads by the names users give them. Knows no model and no configuration.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>

namespace chargpt {

/// auto | cpu | cuda | cuda:N. Error unavailable where a CUDA device was asked for and there is none, usage for another
/// name.
torch::Device choose_device(const std::string& name);

/// "cpu", "cuda:0": the spelling that choose_device() reads.
std::string device_name(const torch::Device& device);

/// CUDA devices that this build of LibTorch can use; 0 without CUDA.
std::int64_t cuda_device_count();

/// Physical cores this process may run on: its affinity mask, one thread of each core, capped by the cgroup's CPU
/// quota.
std::int64_t physical_cores();

/// Sets LibTorch's intra-op threads (0: physical cores) and flush-denormal, before the first parallel region. Returns
/// the number in force. Error usage for a negative or absurd number.
std::int64_t set_threads(std::int64_t threads);

/// Waits for all work queued on `device`; nothing to do on the CPU. For timing.
void synchronize(const torch::Device& device);

/// The CPU multiplies bfloat16 itself (AVX512_BF16); else LibTorch emulates it, slowly.
bool cpu_has_bfloat16();
std::string cpu_capability();
std::string libtorch_version();

}  // namespace chargpt
