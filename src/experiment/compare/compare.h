// `compare`: trains every config with every seed on the same text, scores each exactly on the whole validation split,
// ranks them. Knows no command line and never prints.
//
// Seed k is the first config's train.seed + k, for every config: configs of equal batch_size and block_size see the
// same windows in the same order. The weights scored are those that a run ended with, averaged ones where train.ema
// averages. A comparison that was broken off goes on when it is started again with the same folder: runs that ended are
// reused, one that was under way is resumed. A folder that holds another run is refused, never overwritten.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "config/load.h"
#include "experiment/compare/ranking.h"
#include "train/trainer.h"

namespace chargpt {

/// Starts run `number` of this very comparison as a process of its own, which calls compare_one().
using RunStarter = std::function<std::unique_ptr<ChildProcess>(std::int64_t number)>;

struct CompareOptions {
  std::int64_t seeds = 1;
  std::filesystem::path out;               ///< OUT/<config>-seed<seed>/ for each run, OUT/compare.json at the end
  std::optional<std::int64_t> first_seed;  ///< instead of the first config's train.seed
  std::optional<std::int64_t> max_iters;   ///< instead of every config's own length; excludes max_seconds
  /// The same in seconds for each run, from its beginning to its last save. What they come to for a config's first seed
  /// holds for all its seeds, and for a run that is resumed.
  std::optional<double> max_seconds;
  std::optional<double> target;  ///< loss whose time is looked up in the runs' metrics
  /// Train and score within the train split, whose last part is held out (experiment/held_out.h), so that what is
  /// chosen by the losses is not chosen by the validation split.
  bool within_train_split = false;
  /// Trainings at once, each a process of its own with its share of the threads; excludes every length in seconds.
  std::int64_t jobs = 1;
  RunStarter start;  ///< needed where jobs > 1
  /// Other processes, on whatever machine, compare the same in the same folder: each trains the runs that no other is
  /// training, and all have all results in the end. Excludes every length in seconds.
  bool shared = false;
  bool writes = true;      ///< OUT/compare.json; of several processes one does
  TrainerOptions trainer;  ///< device, engine, threads, stop, program_version; `run` is set for each run
};

/// One of the runs of a comparison, as it is about to go on.
struct ComparedRun {
  std::string config;
  std::int64_t seed = 0;
  std::filesystem::path run;
  std::int64_t number = 1, total = 1;       ///< run `number` of `total`, from 1
  std::optional<std::int64_t> resume_step;  ///< step it goes on from; absent for a new run
};

/// What a caller may want to show; each may be empty.
struct CompareHooks {
  std::function<void(const ComparedRun&, Trainer&)> before_run;  ///< the place to add listeners
  std::function<void(const ComparedRun&)> started;               ///< where it is a process of its own
  std::function<void(const ComparedRun&, const SeedRun&, bool reused)> after_run;
  std::function<void(const std::string& line)> notice;
  ReadingProgress reading;  ///< of the text
};

/// Runs seed by seed, all configs with the first seed first. Stopped (`trainer.stop`), it returns at once with
/// `complete` false; what has been trained stays. A run that diverges is listed, and the others go on.
/// Errors, before anything is trained: usage for no config, seeds outside 1..1000, both lengths, jobs beside a length
/// in seconds, configs whose texts, units or splits differ, a bad model; busy for a run folder that holds
/// another run or is in use. With jobs > 1 the error of a run that fails is passed on under the run's name, after the
/// others have saved.
Comparison compare(std::vector<ResolvedConfig> configs, const CompareOptions& options, const CompareHooks& hooks = {});

/// Run `number` (from 1) of such a comparison alone, left on the disk for compare() to reuse. False where it was
/// stopped. Errors as above; diverged too, and io where the folder of the runs, which compare() has made, is not there.
bool compare_one(std::vector<ResolvedConfig> configs, const CompareOptions& options, std::int64_t number,
                 const CompareHooks& hooks = {});

}  // namespace chargpt
