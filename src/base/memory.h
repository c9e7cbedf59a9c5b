// How much memory and processor time this process may use, and running out of memory put into words. Independent of
// models.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.h"

namespace chargpt {

/// `failure` as an Error memory with advice, where it is std::bad_alloc, the system's ENOMEM, a thread that could not
/// be started, or what LibTorch and the libraries under it say when they cannot allocate on host or device. None for an
/// Error, which says itself what it is. `trains`: the advice is for a training.
std::optional<Error> as_memory_error(const std::exception& failure, bool trains = true);

/// The system refused another thread or process (EAGAIN): an Error memory with advice.
Error refused_thread();

/// Bytes of main memory this process may use: the machine's, capped by the cgroup's limit. `system`: where /proc and
/// /sys are.
std::int64_t physical_memory(const std::filesystem::path& system = "/");

/// The most bytes that this process has had in main memory, including files mapped into it.
std::int64_t peak_memory();

struct CgroupLimits {
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();  ///< bytes
  double processors = std::numeric_limits<double>::infinity();     ///< processors' worth of time, such as 1.5
};

/// The least limits of the process's own group and of all groups around it. `system`: the folder with /proc and /sys.
CgroupLimits cgroup_limits(const std::filesystem::path& system = "/");

}  // namespace chargpt
