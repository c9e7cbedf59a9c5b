// Running out of memory, told apart from other failures and put into words; and how much there is. Knows no model.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace chargpt {

/// `failure` as an Error memory with advice, where it is std::bad_alloc, the system's ENOMEM, a thread that could not
/// be started, or what LibTorch and the libraries under it say when they cannot allocate on host or device. None for an
/// Error, which says itself what it is.
std::optional<Error> as_memory_error(const std::exception& failure);

/// The system refused another thread or process (EAGAIN): an Error memory with the limits that are set, and advice.
Error refused_thread();

/// Bytes of main memory this process may use: the machine's, capped by the cgroup's limit. `system`: where /proc and
/// /sys are.
std::int64_t physical_memory(const std::filesystem::path& system = "/");

/// Bytes that this process has in main memory now, files mapped into it included.
std::int64_t resident_memory();

/// Bytes of physical_memory() that a program can still have, without others being moved to disk: files that the system
/// only keeps in memory count as free (MemAvailable of proc(5)). `system`: where /proc and /sys are.
std::int64_t available_memory(const std::filesystem::path& system = "/");

}  // namespace chargpt
