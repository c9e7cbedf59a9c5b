#include "compute/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <sched.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_threads = 1024;

Error no_such_device(const std::string& name) {
  const std::int64_t count = cuda_device_count();
  if (count > 0)
    return {ExitCode::unavailable, "--device " + name + ": there are only " + std::to_string(count) +
                                       " CUDA devices, numbered from cuda:0; choose one of those"};
  const std::string reason = at::globalContext().hasCUDA() ? "no GPU with a working driver was found"
                                                           : "this program was built with a LibTorch without CUDA";
  return {ExitCode::unavailable, "--device " + name + ": " + reason + "; use --device cpu or auto"};
}

/// The N of "cuda:N"; 0 for "cuda"; -1 for anything else.
std::int64_t cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  if (name.rfind("cuda:", 0) != 0) return -1;
  std::int64_t index = -1;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data() + 5, end, index);
  return failure == std::errc{} && rest == end ? index : -1;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// CPUs granted by the cgroup, rounded up; `otherwise` where there is no quota. Format: "max 100000" or "150000
/// 100000".
std::int64_t cgroup_quota(std::int64_t otherwise) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return otherwise;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(quota / period + 0.999));
}

}  // namespace

std::int64_t cuda_device_count() {
  return torch::cuda::is_available() ? torch::cuda::device_count() : 0;
}

torch::Device choose_device(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  if (name == "auto") return cuda_device_count() > 0 ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  const std::int64_t index = cuda_index(name);
  if (index < 0) throw Error(ExitCode::usage, "--device " + name + ": not a device; use auto, cpu, cuda or cuda:N");
  if (index >= cuda_device_count()) throw no_such_device(name);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

std::string device_name(const torch::Device& device) {
  return device.str();
}

std::int64_t physical_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return std::max(1U, std::thread::hardware_concurrency());
  std::set<std::string> cores;  // threads of one core name the same list of siblings
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const std::string siblings = first_line(topology + "thread_siblings_list");
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  const auto count = static_cast<std::int64_t>(cores.size());
  return std::min(count, cgroup_quota(count));
}

std::int64_t set_threads(std::int64_t threads) {
  if (threads < 0 || threads > most_threads)
    throw Error(ExitCode::usage, "--threads " + std::to_string(threads) +
                                     " is not between 0 (one per physical core) and " + std::to_string(most_threads));
  at::globalContext().setFlushDenormal(true);
  at::set_num_threads(static_cast<int>(threads == 0 ? physical_cores() : threads));
  return at::get_num_threads();
}

void synchronize(const torch::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

bool cpu_has_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16");
#else
  return true;
#endif
}

std::string cpu_capability() {
  return at::get_cpu_capability();
}

std::string libtorch_version() {
  return TORCH_VERSION;
}

}  // namespace chargpt
