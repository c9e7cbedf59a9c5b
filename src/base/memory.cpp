#include "base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace chargpt {
namespace {

// Texts of failed allocations. LibTorch wraps most of them, but oneDNN throws its own exception type, and CUDA's
// libraries report a status.
constexpr std::pair<std::string_view, std::string_view> signs[] = {
    {"DefaultCPUAllocator", "host"}, {"CUDAHostAllocator", "host"}, {"Cannot allocate memory", "host"},
    {"out of memory", "device"},     {"ALLOC_FAILED", "device"},    {"cudaErrorMemoryAllocation", "device"}};

Error memory_error(std::string_view where, bool trains) {
  return Error(ExitCode::memory, "out of ", where, " memory",
               trains ? "; lower model.block_size, the model's n_embd and n_layer, --threads, or with LibTorch "
                        "train.batch_size (and raise train.gradient_accumulation_steps to keep the tokens per step)"
                      : "; free some, raise the limit (ulimit -v), or use a smaller model, text or number of samples");
}

/// Whether a thread could not be started. A refused file has the same code, but throws a filesystem_error.
bool is_refused_thread(const std::system_error& refused) {
  return refused.code() == std::errc::resource_unavailable_try_again &&
         dynamic_cast<const std::filesystem::filesystem_error*>(&refused) == nullptr;
}

/// This process's cgroup: the path after "0::" in /proc/self/cgroup, such as "/system.slice/a.service". Returns "/"
/// without one, or if the cgroup is outside this process's view ("/../b").
fs::path own_group(const fs::path& system) {
  std::ifstream file(system / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/") && line.find("/..") == std::string::npos) return line.substr(3);
  return "/";
}

}  // namespace

std::optional<Error> as_memory_error(const std::exception& failure, bool trains) {
  if (dynamic_cast<const Error*>(&failure)) return std::nullopt;  // it has its own message
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return memory_error("host", trains);
  if (const auto* refused = dynamic_cast<const std::system_error*>(&failure))
    return refused->code() == std::errc::not_enough_memory ? std::optional(memory_error("host", trains))
           : is_refused_thread(*refused)                   ? std::optional(refused_thread())
                                                           : std::nullopt;
  const std::string message = failure.what();
  for (const auto& [sign, where] : signs)
    if (message.find(sign) != std::string::npos) return memory_error(where, trains || where == "device");
  return std::nullopt;
}

Error refused_thread() {
  return {ExitCode::memory,
          "the system refused to start another thread; lower --threads, or raise the limit (ulimit -u, ulimit -v, or "
          "pids.max of a container)"};
}

std::int64_t physical_memory(const std::filesystem::path& system) {
  const std::int64_t machine = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  return std::min(machine, cgroup_limits(system).memory);
}

std::int64_t peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;  // in kB
  return 0;
}

CgroupLimits cgroup_limits(const fs::path& system) {
  CgroupLimits limits;
  for (fs::path group = own_group(system);; group = group.parent_path()) {
    const fs::path folder = system / "sys/fs/cgroup" / group.relative_path();
    // "max" instead of a number means no limit. cpu.max "150000 100000" is 150,000 of each 100,000 microseconds.
    std::ifstream memory(folder / "memory.max"), processors(folder / "cpu.max");
    std::int64_t bytes = 0;
    double quota = 0, period = 0;
    if (memory >> bytes) limits.memory = std::min(limits.memory, bytes);
    if (processors >> quota >> period && quota > 0 && period > 0)
      limits.processors = std::min(limits.processors, quota / period);
    if (group == group.root_path()) return limits;
  }
}

}  // namespace chargpt
