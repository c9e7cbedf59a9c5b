// Devices and threads by the names users give them.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>

namespace chargpt {

/// auto | cpu | cuda | cuda:N. Error unavailable where a CUDA device was asked for and there is none, usage for another name.
torch::Device choose_device(const std::string& name);

/// Sets LibTorch's intra-op threads (0: physical cores) and flush-denormal, before the first parallel region. Returns the number in force.
std::int64_t set_threads(std::int64_t threads);

std::string cpu_capability();
std::string libtorch_version();

}  // namespace chargpt
