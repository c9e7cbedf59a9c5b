// Devices and threads by the names users give them. Knows no model and no configuration. LibTorch is loaded where a GPU
// is asked for, or where auto may find one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/processor.h"

namespace chargpt {

/// auto | cpu | cuda | cuda:N becomes "cpu" or "cuda:N"; auto beside the engine cpu "cpu". Error unavailable where a
/// CUDA device was asked for and there is none, usage for another name.
std::string choose_device(const std::string& name, const std::string& engine = "auto");

/// choose_device() would take it.
bool is_device_here(const std::string& name);

/// Whether a driver has made a device, which costs no loading of LibTorch to know.
bool may_have_gpu();

/// CUDA devices that the program can use; 0 without LibTorch.
std::int64_t cuda_device_count();

/// Bytes of memory that a GPU has, whoever uses them; none where LibTorch does not say.
std::optional<std::int64_t> device_memory(const std::string& device);

/// How many threads this process computes with (0: physical cores), with denormal numbers flushed. Returns the number
/// in force. Error usage for a negative or absurd number.
std::int64_t set_threads(std::int64_t threads);

}  // namespace chargpt
