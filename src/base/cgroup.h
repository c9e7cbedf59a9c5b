// What the control groups (cgroup v2) that this process is in allow it: containers and services live in one. Every
// group between the process's own and the root may set a limit, and the least counts. Knows no other source of limits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chargpt {

/// Bytes of main memory; none where no group sets a limit. `system`: where /proc and /sys are.
std::optional<std::int64_t> cgroup_memory(const std::filesystem::path& system = "/");

/// Bytes of that limit that are free, or hold file pages that the system gives back first; none without a limit.
std::optional<std::int64_t> cgroup_available_memory(const std::filesystem::path& system = "/");

/// Processors' worth of time, as 1.5; none without a limit.
std::optional<double> cgroup_processors(const std::filesystem::path& system = "/");

/// Processes and threads; none without a limit.
std::optional<std::int64_t> cgroup_threads(const std::filesystem::path& system = "/");

}  // namespace chargpt
