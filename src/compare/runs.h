// Many trainings, each a child process in a run folder of its own: one that has ended is taken as it is, one that was
// interrupted goes on, several may train at once. A child that crashes ends no other. Knows no score, no statistics and
// no command line.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "config/load.h"

namespace chargpt {

/// One training, before it has begun.
struct PlannedRun {
  std::string config = {};      ///< as it is listed: "default n_head=2"
  ResolvedConfig options = {};  ///< with its seed and length
  std::filesystem::path folder = {};
  std::filesystem::path replays = {};  ///< see PlannedTraining
  std::int64_t number = 1, total = 1;  ///< run `number` of `total`, from 1

  std::int64_t seed() const { return options.config.train.seed; }
};

/// A child that is training, as its metrics tell.
struct RunningRun {
  const PlannedRun* run = nullptr;
  std::int64_t step = 0, max_iters = 0;  ///< max_iters 0: not known
  std::optional<double> share = {};      ///< of the run that is done
  double val_loss = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> seconds_left = {};
};

struct RunsOptions {
  std::int64_t jobs = 1;  ///< children at once
  const std::atomic<bool>* stop = nullptr;
};

struct RunsHooks {
  /// Takes over the result of a run that has ended; false where it has not. Required.
  std::function<bool(const PlannedRun&)> take_over;
  /// Starts the child that trains or resumes the run in its folder. Required.
  std::function<std::unique_ptr<ChildProcess>(const PlannedRun&)> start;
  /// After take_over: whether it had ended before.
  std::function<void(const PlannedRun&, bool reused)> ended = [](const auto&...) {};
  /// It diverged, its memory ran out, it crashed or was killed, `seconds` after its start: the others go on. `error`:
  /// the line of the child's own; where it left none, how it ended.
  std::function<void(const PlannedRun&, const Error& error, double seconds)> failed = [](const auto&...) {};
  /// Each new row of a running child's metrics.jsonl.
  std::function<void(const PlannedRun&, const nlohmann::ordered_json& row)> row = [](const auto&...) {};
  /// Several times a second: what is running, and how many runs are done.
  std::function<void(const std::vector<RunningRun>& running, std::int64_t done)> watched = [](const auto&...) {};
  /// What a child has written on stderr since the last call.
  std::function<void(const PlannedRun&, const std::string& text)> said = [](const auto&...) {};
};

/// Runs all in their order. False where it was stopped: the children have saved by then. Errors, before anything is
/// started: busy for a folder that holds another run or is in use. The error of a child other than those of
/// RunsHooks::failed (a full disk, say) is thrown on under the run's name, after the others have saved.
bool run_all(const std::vector<PlannedRun>& runs, const RunsOptions& options, const RunsHooks& hooks);

/// "run 3 of 8: default n_head=2, seed 1337"
std::string run_heading(const PlannedRun& run);

/// One line for all that is running, of at most `columns` (0: any): of one run which it is, how far and its last
/// validation loss; of several the part that each has done.
std::string progress_line(const std::vector<RunningRun>& running, std::int64_t done, std::size_t columns);

/// RUN/config.json as an earlier start left it. Errors: missing; busy for what no run wrote, such as one that extends
/// another file.
ResolvedConfig config_of_run_folder(const std::filesystem::path& run);

/// The configs' names; the second of one name (or of one folder's name) is NAME-2, and so on.
std::vector<std::string> distinct_names(const std::vector<ResolvedConfig>& configs);

/// "default n_head=2" with seed 1337 -> "default-n_head=2-seed1337": a folder's name that a shell takes as one word.
std::string seed_folder_name(const std::string& name, std::int64_t seed);

}  // namespace chargpt
