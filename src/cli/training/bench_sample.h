// `chargpt bench sample RUN`: characters a second, and how long the first one takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/loaded_run.h"

namespace chargpt {

struct SampleBenchArguments {
  OutputArguments output;
  ModelUse use;
  std::vector<Override> overrides;
  std::string run;
  std::int64_t batch = 0, repeats = 5;
};

/// --batch, --repeats, --context.
void add_sample_bench_options(Options& options, SampleBenchArguments& arguments);
void run_bench_sample(const SampleBenchArguments& arguments);

}  // namespace chargpt
