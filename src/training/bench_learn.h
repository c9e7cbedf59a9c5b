// `chargpt bench learn CONFIG…`: seconds to a target loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"

namespace chargpt {

struct LearnArguments {
  OutputArguments output;
  DeviceArguments device;
  std::vector<Override> overrides;
  std::vector<std::string> presets;
  std::string engine = "auto", out;
  double target = 0;
  std::int64_t seeds = 3;
  bool to_the_end = false;
};

/// --target, --seeds, --out, --to-the-end.
void add_learn_options(Options& options, LearnArguments& arguments);
void run_bench_learn(const LearnArguments& arguments);

}  // namespace chargpt
