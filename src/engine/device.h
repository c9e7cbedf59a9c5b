// Devices and threads by their user-visible names. Independent of models and configurations. Loads LibTorch only if a
// GPU is requested, or if `auto` may find one.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/processor.h"

namespace chargpt {

/// Converts auto | cpu | cuda | cuda:N to "cpu" or "cuda:N"; with the engine "cpu", auto is "cpu". Throws Error
/// unavailable if a requested CUDA device does not exist, usage for another name.
std::string choose_device(const std::string& name, const std::string& engine = "auto");

/// True for cpu, auto, and the GPUs among which auto would choose.
bool is_device_here(const std::string& name);

/// True if a GPU driver has created a device file. Does not load LibTorch.
bool may_have_gpu();

/// Number of CUDA devices that `auto` can choose; 0 without LibTorch or without a device file.
std::int64_t cuda_device_count();

/// Sets the number of threads of this process (0: physical cores) and flushes denormals. Returns the number. Throws
/// Error usage if `threads` is negative or above the limit of thread_count().
std::int64_t set_threads(std::int64_t threads);

}  // namespace chargpt
