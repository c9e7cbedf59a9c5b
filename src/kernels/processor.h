// The processor that this process runs on: how many cores, and what they can do. Knows no model.
#pragma once

#include <cstdint>
#include <string>

namespace chargpt {

/// Physical cores this process may run on: its affinity mask, one thread of each core, capped by the cgroup's CPU
/// quota.
std::int64_t physical_cores();

/// Processors this process may run on, threads of one core each counted: its affinity mask, capped likewise.
std::int64_t usable_processors();

/// `threads`, 0 meaning one for each physical core. Error usage for a negative or absurd number.
int thread_count(std::int64_t threads);

/// Numbers too small to be normal are zero on this thread, and on those that it starts: computing with them takes many
/// times as long.
void flush_denormals();

/// The same until it goes: for a thread that is not ours.
class FlushedDenormals {
 public:
  FlushedDenormals();
  ~FlushedDenormals();
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  std::uint64_t before_;
};

/// What an x86-64 processor lacks that our kernels gain most from, in a line; empty: nothing.
std::string missing_instructions();

/// Makes ATEN_CPU_CAPABILITY a limit that holds: a word that is none is taken out of the environment, and one beyond
/// this processor, which LibTorch would follow into an illegal instruction, replaced. To be called before LibTorch
/// first computes. Returns what was wrong, once; empty: nothing.
std::string settle_cpu_capability();
/// The instruction set of our kernels as LibTorch names it: AVX512, AVX2 or DEFAULT; NEON on aarch64.
std::string kernels_capability();

}  // namespace chargpt
