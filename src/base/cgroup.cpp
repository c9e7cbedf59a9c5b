#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// The group's path in /proc/self/cgroup: the line "0::/system.slice/a.service"; "/" where there is none, or where it
/// lies outside of what this process sees ("/../b").
fs::path own_group(const fs::path& system) {
  std::ifstream file(system / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/") && line.find("/..") == std::string::npos) return line.substr(3);
  return "/";
}

/// Folders of the process's own group and of those around it.
std::vector<fs::path> group_folders(const fs::path& system) {
  std::vector<fs::path> folders;
  for (fs::path group = own_group(system);; group = group.parent_path()) {
    folders.push_back(system / "sys/fs/cgroup" / group.relative_path());
    if (group == group.root_path()) return folders;
  }
}

/// The number that a file begins with; none where it says "max", or is not there.
std::optional<std::int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// Of a line "inactive_file 4096"; 0 where there is none.
std::int64_t reclaimable_bytes(const fs::path& folder) {
  std::ifstream file(folder / "memory.stat");
  std::string name;
  for (std::int64_t bytes = 0; file >> name >> bytes;)
    if (name == "inactive_file") return bytes;
  return 0;
}

std::optional<std::int64_t> available_in(const fs::path& folder) {
  const auto limit = number_in(folder / "memory.max"), used = number_in(folder / "memory.current");
  if (!limit || !used) return std::nullopt;
  return std::clamp<std::int64_t>(*limit - *used + reclaimable_bytes(folder), 0, *limit);
}

/// "150000 100000": so many microseconds of each so many.
std::optional<double> processors_in(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

/// The least that a group allows.
auto least(const fs::path& system, const auto& allowed_in) {
  decltype(allowed_in(system)) least;
  for (const fs::path& folder : group_folders(system))
    if (const auto allowed = allowed_in(folder)) least = std::min(least.value_or(*allowed), *allowed);
  return least;
}

std::optional<std::int64_t> least_number(const fs::path& system, const char* file) {
  return least(system, [file](const fs::path& folder) { return number_in(folder / file); });
}

}  // namespace

std::optional<std::int64_t> cgroup_memory(const fs::path& system) {
  return least_number(system, "memory.max");
}

std::optional<std::int64_t> cgroup_available_memory(const fs::path& system) {
  return least(system, available_in);
}

std::optional<double> cgroup_processors(const fs::path& system) {
  return least(system, processors_in);
}

std::optional<std::int64_t> cgroup_threads(const fs::path& system) {
  return least_number(system, "pids.max");
}

}  // namespace chargpt
