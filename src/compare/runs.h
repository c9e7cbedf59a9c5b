// Trains what a comparison lacks: each run is a child process, `chargpt resume RUN`, in a folder of its own. A run that
// has ended is kept, one that was interrupted continues, several may train at once, and several processes may share the
// work. Independent of scores, statistics and the command line.
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
#include "report/events.h"
#include "text/corpus.h"

namespace chargpt {

/// One training of a comparison.
struct PlannedRun {
  std::size_t config = 0;       ///< index among those of the comparison
  std::string name = {};        ///< of that config: "default n_head=2"
  ResolvedConfig options = {};  ///< with its seed and length
  std::filesystem::path folder = {};
  std::filesystem::path replays = {};  ///< the run whose shares of time this one replays; empty: none
  std::int64_t number = 1, total = 1;  ///< run `number` of `total`, from 1

  std::int64_t seed() const { return options.config.train.seed; }
};

/// "run 3 of 8: default n_head=2, seed 1337"
std::string run_heading(const PlannedRun& run);

struct RunsOptions {
  std::int64_t jobs = 1;  ///< children at once
  const std::atomic<bool>* stop = nullptr;
};

struct RunsHooks {
  /// Starts the child that trains or resumes the run. Required.
  std::function<std::unique_ptr<ChildProcess>(const PlannedRun&)> start;
  /// The run has ended (finished, patience, seconds or diverged); `reused`: before this comparison came to it.
  std::function<void(const PlannedRun&, Ending ending, bool reused)> ended;
  /// The child ended without a result, with this exit code (128 + the signal that ended it).
  std::function<void(const PlannedRun&, int code)> failed;
  /// All runs that are left train in other processes.
  std::function<void(std::int64_t runs)> waiting = [](auto) {};
};

/// Runs all in their order; a run that another process has locked is looked at again later. False if it was stopped:
/// the children have saved by then. Errors, before anything is started: busy for a folder that contains another run or
/// was trained on another text. Error usage if the text is too long to keep and cannot be read again.
bool run_all(const std::vector<PlannedRun>& runs, const Corpus& corpus, const RunsOptions& options,
             const RunsHooks& hooks);

/// How the run in a folder ended: unknown if it can continue, or has not begun. Errors: as load_checkpoint.
Ending ending_of_run(const std::filesystem::path& run);

/// RUN/config.json as it was written. Errors: missing; busy if a run did not write it, such as one that extends a file.
ResolvedConfig config_of_run_folder(const std::filesystem::path& run);

}  // namespace chargpt
