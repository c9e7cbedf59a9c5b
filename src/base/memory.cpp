#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/cgroup.h"

namespace chargpt {
namespace {

/// The bytes of "you tried to allocate 123 bytes" or "Tried to allocate 2.00 GiB", as LibTorch wrote them; empty where
/// there are none.
std::string amount_asked_for(const std::string& message) {
  const std::string before = "ried to allocate ";
  const std::size_t found = message.find(before);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + before.size();
  return message.substr(begin, message.find_first_of(".,\n", message.find(' ', begin)) - begin);
}

// What the libraries underneath say. LibTorch wraps most of it, but oneDNN throws an exception type of its own, and
// CUDA's libraries report their own lack of memory as a status.
constexpr std::array<std::string_view, 3> host_signs = {"DefaultCPUAllocator", "CUDAHostAllocator",
                                                        "Cannot allocate memory"};
constexpr std::array<std::string_view, 3> device_signs = {"out of memory", "ALLOC_FAILED", "cudaErrorMemoryAllocation"};

bool holds_any(const std::string& message, std::span<const std::string_view> signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view sign) { return message.find(sign) != std::string::npos; });
}

Error memory_error(const std::string& where, const std::string& amount) {
  const std::string asked = amount.empty() ? "" : " (" + amount + " more were asked for)";
  return Error(ExitCode::memory, "out of ", where, " memory", asked,
               "; lower train.batch_size (and raise train.gradient_accumulation_steps to keep the tokens per step), "
               "model.block_size, or the model's n_embd and n_layer");
}

std::int64_t bytes_of_pages(int which) {
  return static_cast<std::int64_t>(sysconf(which)) * sysconf(_SC_PAGE_SIZE);
}

/// "MemAvailable:   123 kB", in bytes; where the system does not say, what holds nothing at all.
std::int64_t available_on_machine(const std::filesystem::path& system) {
  std::ifstream in(system / "proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (std::int64_t kilobytes = 0; std::sscanf(line.c_str(), "MemAvailable: %" SCNd64, &kilobytes) == 1)
      return kilobytes * 1024;
  return bytes_of_pages(_SC_AVPHYS_PAGES);
}

/// The soft limit; none: unlimited.
std::optional<std::int64_t> soft_limit(decltype(RLIMIT_AS) resource) {
  struct rlimit limit {};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

/// What starting a thread throws; what a file refuses has the file's name.
bool is_refused_thread(const std::system_error& refused) {
  return refused.code() == std::errc::resource_unavailable_try_again &&
         dynamic_cast<const std::filesystem::filesystem_error*>(&refused) == nullptr;
}

}  // namespace

std::optional<Error> as_memory_error(const std::exception& failure) {
  if (dynamic_cast<const Error*>(&failure)) return std::nullopt;  // it says itself what it is
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return memory_error("host", "");
  if (const auto* refused = dynamic_cast<const std::system_error*>(&failure))
    return refused->code() == std::errc::not_enough_memory ? std::optional(memory_error("host", ""))
           : is_refused_thread(*refused)                   ? std::optional(refused_thread())
                                                           : std::nullopt;
  const std::string message = failure.what();
  if (holds_any(message, host_signs)) return memory_error("host", amount_asked_for(message));
  if (holds_any(message, device_signs)) return memory_error("device", amount_asked_for(message));
  return std::nullopt;
}

Error refused_thread() {
  std::string limits;
  const auto add = [&limits](std::optional<std::int64_t> limit, std::int64_t unit, const char* of_what) {
    if (limit) limits += (limits.empty() ? "" : ", ") + std::to_string(*limit / unit) + of_what;
  };
  add(soft_limit(RLIMIT_NPROC), 1, " processes and threads of this user (ulimit -u)");
  add(cgroup_threads(), 1, " processes and threads of this control group (pids.max)");
  add(soft_limit(RLIMIT_AS), 1024, " kB of address space (ulimit -v)");
  return {ExitCode::memory, "the system refused to start another thread; limits here: " +
                                (limits.empty() ? "those of the whole system" : limits) +
                                "; lower --threads, or raise the limit"};
}

std::int64_t physical_memory(const std::filesystem::path& system) {
  const std::int64_t machine = bytes_of_pages(_SC_PHYS_PAGES);
  return std::min(machine, cgroup_memory(system).value_or(machine));
}

std::int64_t resident_memory() {
  std::ifstream in("/proc/self/statm");  // in pages
  std::int64_t all = 0, resident = 0;
  return in >> all >> resident ? resident * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE)) : 0;
}

std::int64_t available_memory(const std::filesystem::path& system) {
  const std::int64_t machine = available_on_machine(system);
  return std::min(machine, cgroup_available_memory(system).value_or(machine));
}

}  // namespace chargpt
