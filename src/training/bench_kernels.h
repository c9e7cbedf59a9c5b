// `chargpt bench kernels [CONFIG]`: the matmuls of a training step beside the libraries that LibTorch brings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"

namespace chargpt {

struct KernelBenchArguments {
  OutputArguments output;
  std::vector<Override> overrides;
  std::string preset;
  std::int64_t threads = 0;  ///< 0: one, then all
  std::int64_t rounds = 30;
};

/// --rounds.
void add_kernel_bench_options(Options& options, KernelBenchArguments& arguments);
void run_bench_kernels(const KernelBenchArguments& arguments);

}  // namespace chargpt
