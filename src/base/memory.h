// How much memory and processor time this process may use, and errors for running out of memory. Independent of models.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.h"

namespace chargpt {

/// Converts `failure` to an Error memory with advice if it is std::bad_alloc, ENOMEM, a thread that could not be
/// started, or a failed allocation reported by LibTorch or a library under it. Returns nullopt for any other failure,
/// and for an Error. `trains`: whether the advice is for training.
std::optional<Error> as_memory_error(const std::exception& failure, bool trains = true);

/// An Error memory with advice, for a thread or process that the system refused to start (EAGAIN).
Error refused_thread();

/// Bytes of main memory that this process may use: the machine's memory or the cgroup's limit, whichever is less.
/// `system`: the folder with /proc and /sys.
std::int64_t physical_memory(const std::filesystem::path& system = "/");

/// The largest number of bytes that this process has had in main memory, mapped files included.
std::int64_t peak_memory();

struct CgroupLimits {
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();  ///< bytes
  double processors = std::numeric_limits<double>::infinity();     ///< share of processor time, such as 1.5 processors
};

/// The lowest limits of the process's own cgroup and of all cgroups above it. `system`: the folder with /proc and /sys.
CgroupLimits cgroup_limits(const std::filesystem::path& system = "/");

}  // namespace chargpt
