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
  double process_started = 0;               ///< seconds on the steady clock, for `seconds` from process start
};

/// Why training ended.
enum class Ending { finished, patience, stopped };

class Trainer {
 public:
  /// A new run: weights from (config, seed).
  Trainer(ResolvedConfig config, Corpus corpus, TrainerOptions options);
  ~Trainer();

  /// Goes on from a checkpoint (weights, moments, step, best). Differences that end bit-exactness become notices;
  /// another text is an Error data.
  void resume_from(const Checkpoint& checkpoint);
  /// Weights only, from another run; rows of embedding and head are matched by symbol, new symbols keep their fresh rows.
  void init_from(const Checkpoint& checkpoint);

  void add_listener(std::shared_ptr<Listener> listener);

  /// Sizes, epochs, memory, disk; `seconds` only after a few measured steps of a scratch copy if `measure`.
  PlanEvent plan(bool measure);
  /// Until max_iters, patience or stop. Evaluates and saves every eval_interval and at the end.
  Ending run();
  /// One update; nothing is evaluated or saved. For tests.
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
