// `bench learn`: runs whole trainings as processes of their own and watches their metrics until a target loss is
// reached. Knows no command line and never prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "config/load.h"
#include "experiment/time_to_loss/learning_curve.h"

namespace chargpt {

/// A training that was just started, and what starting it took.
struct StartedTraining {
  std::unique_ptr<ChildProcess> process;
  double launch_seconds = 0;
};

struct TimeToLossOptions {
  double target = 0;  ///< nats per token, of the whole validation split
  std::int64_t seeds = 1;
  std::filesystem::path out;  ///< OUT/<config>-seed<seed>/ for each run
  bool to_the_end = false;    ///< runs go on after the target, for their whole curves
  const std::atomic<bool>* stop = nullptr;
  /// Starts config `index` with `seed` in the folder `run`, which it makes itself.
  std::function<StartedTraining(std::size_t index, std::int64_t seed, const std::filesystem::path& run)> start;
  std::function<void(const std::string& config, const TimedRun&)> after_run;  ///< may be empty
};

struct TimesToLoss {
  std::vector<TimedConfig> configs = {};  ///< sort_by_time()'s order
  bool complete = true;                   ///< false: stopped before every run had ended
};

/// One run at a time, seed by seed, all configs with the first seed first, so that a machine that slows down slows all.
/// A run that diverges has not reached the target. Errors: usage for no config, seeds outside 1..1000, a target that is
/// no number above 0, configs with eval.eval_iters, a model that sees its own targets; else that of the run that
/// failed, under its name.
TimesToLoss time_to_loss(const std::vector<ResolvedConfig>& configs, const TimeToLossOptions& options);

}  // namespace chargpt
