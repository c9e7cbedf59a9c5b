// The loop: repeats steps, evaluates, saves, emits events. Knows no model by name and never prints.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "compute/engine.h"
#include "report/events.h"
#include "text/corpus.h"
#include "train/batches.h"

namespace chargpt {

struct TrainerOptions {
  std::filesystem::path run;  ///< run folder, already made and locked; empty: nothing is written
  std::string device = "auto";
  std::string engine = "auto";
  std::int64_t threads = 0;
  const std::atomic<bool>* stop = nullptr;  ///< asked after each step: finish, save, return
  double process_started = 0;               ///< seconds on the steady clock, for `seconds` from process start; 0: now
  std::string program_version;              ///< kept in checkpoints
};

/// Why training ended.
enum class Ending { finished, patience, stopped };

class Trainer {
 public:
  /// A new run: weights from (config, seed). Errors: usage for options that do not fit together, data for a text too
  /// short, unavailable for the device, memory where a step could not fit.
  Trainer(ResolvedConfig config, Corpus corpus, TrainerOptions options);
  ~Trainer();

  /// Goes on from a checkpoint (weights, moments, step, best). Differences that end bit-exactness become notices, as do
  /// changed options; another text is an Error data.
  void resume_from(const Checkpoint& checkpoint);
  /// Weights only, from another run; rows of embedding and head are matched by symbol, new symbols keep their fresh
  /// rows.
  void init_from(const Checkpoint& checkpoint);

  void add_listener(std::shared_ptr<Listener> listener);

  /// Sizes, epochs, memory, disk; `seconds` only if `measure`: from a few steps, after which weights and moments are
  /// put back. Settles the run's length (see train/length.h); with max_seconds that needs the measurement in any case.
  PlanEvent plan(bool measure);
  /// Until max_iters, patience or stop. Emits the plan, evaluates at step 0 (that is saved only where a
  /// rollback may return to it), evaluates and saves every eval_interval and at the end; a stop saves without
  /// evaluating. A save that fails on the way is a
  /// notice, at the end an Error. Error diverged, naming the last good checkpoint, where loss or gradient is not
  /// finite; weights that are not are never saved.
  Ending run();
  /// One update; nothing is evaluated or saved. Where train.on_nonfinite says so an update of a loss or gradient that
  /// is not finite is skipped, or weights and moments go back to those of the last evaluation (of step 0 before that);
  /// then also at a loss spike (see train/loss_trend.h). Such an update counts all the same, so the windows, a function
  /// of the step, are others from there on. Error diverged after 100 skips in a row, or 10 returns to one moment.
  StepEvent step();

  const RunState& state() const;
  const ResolvedConfig& config() const;
  const Corpus& corpus() const;
  LanguageModel& model();
  Engine& engine();
  ParameterArena& arena();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace chargpt
