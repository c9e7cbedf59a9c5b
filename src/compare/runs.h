// Trains the missing runs of a comparison: each is a child process, `chargpt resume RUN`, with its own folder. Ended
// runs are kept, interrupted runs continue, several runs may train at once, and several processes may share the work.
// Independent of scores, statistics and the command line.
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

/// One run of a comparison.
struct PlannedRun {
  std::size_t config = 0;       ///< index among those of the comparison
  std::string name = {};        ///< of that config: "default n_head=2"
  ResolvedConfig options = {};  ///< with its seed and length
  std::filesystem::path folder = {};
  std::filesystem::path replays = {};  ///< run whose time shares this one replays; empty: none
  std::int64_t number = 1, total = 1;  ///< run `number` of `total`, from 1

  std::int64_t seed() const { return options.config.train.seed; }
};

/// "run 3 of 8: default n_head=2, seed 1337"
std::string run_heading(const PlannedRun& run);

/// How to train the runs of a comparison, and what to call as they end.
struct RunsHooks {
  std::int64_t jobs = 1;  ///< runs to train at once
  const std::atomic<bool>* stop = nullptr;
  /// Starts the child that trains or resumes the run. Required.
  std::function<std::unique_ptr<ChildProcess>(const PlannedRun&)> start;
  /// Called when the run has ended (finished, patience, seconds or diverged). `reused`: it had ended before.
  std::function<void(const PlannedRun&, Ending ending, bool reused)> ended;
  /// Called when the child ended without a result. `code`: its exit code, or 128 + the signal that ended it.
  std::function<void(const PlannedRun&, int code)> failed;
  /// Called when all remaining runs train in other processes.
  std::function<void(std::int64_t runs)> waiting = [](auto) {};
};

/// Trains all runs in order; retries a locked run later. Returns false if stopped; the children have then saved.
/// Throws, before any training, Error busy if a folder contains another run or one trained on another text, and Error
/// usage if the text is too long to keep and cannot be read again.
bool run_all(const std::vector<PlannedRun>& runs, const Corpus& corpus, const RunsHooks& hooks);

/// Marks a run beside which others train, `jobs` of one process or in the same folder: its times are not comparable.
/// Call it as the run begins and, while it is locked, as it ends.
void mark_times(const std::filesystem::path& run, std::int64_t jobs);

/// Returns how the run in a folder ended; unknown if it can continue or has not started. Errors: as load_checkpoint().
Ending ending_of_run(const std::filesystem::path& run);

}  // namespace chargpt
