// The processor that this process runs on: its number of cores and its instruction sets. Independent of models.
#pragma once

#include <cstdint>
#include <string>

namespace chargpt {

/// Number of physical cores that this process may run on: cores in its affinity mask, capped by the cgroup's CPU
/// quota.
std::int64_t physical_cores();

/// Number of logical processors that this process may run on: its affinity mask, capped by the same quota.
std::int64_t usable_processors();

/// Returns `threads`, or for 0 the number of physical cores. Throws Error usage if `threads` is negative or above 1024.
int thread_count(std::int64_t threads);

/// Makes this thread, and threads that it starts later, treat denormal numbers as zero: arithmetic on denormals is many
/// times slower.
void flush_denormals();

/// Calls flush_denormals and restores the previous mode in its destructor: for threads of other programs.
class FlushedDenormals {
 public:
  FlushedDenormals();
  ~FlushedDenormals();
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  std::uint64_t before_;
};

/// Makes ATEN_CPU_CAPABILITY valid: removes an unknown value from the environment, and lowers a value beyond this
/// processor, which would make LibTorch execute illegal instructions. Call it before LibTorch first computes. Returns a
/// warning if it changed something; else "".
std::string settle_cpu_capability();
/// The instruction set of our kernels as LibTorch names it: AVX512, AVX2 or DEFAULT; NEON on aarch64.
std::string kernels_capability();

}  // namespace chargpt
