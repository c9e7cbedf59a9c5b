// What learns: parameters with their moments and averages, the batches they are shown and the engine that computes a
// step. Knows no run: no clock, no policy, no evaluation and no listener.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "engine/engine.h"
#include "learner/batches.h"
#include "learner/step.h"
#include "parameters/arena.h"
#include "text/corpus.h"

namespace chargpt {

/// Fills in the distribution of the next symbol at every place of the windows: (B, T, V).
using NextSymbols = std::function<void(const WindowBatch& windows, std::span<float> q)>;

struct Learner {
  /// Fresh weights from (config, seed, symbols) on `device`, as choose_device() gives it; `config` must outlive it.
  /// Errors: usage for options that do not fit together, and as make_engine.
  /// `ranks`, which must outlive it: the processes that share its steps.
  Learner(const Config& config, const Corpus& corpus, const std::string& device, const std::string& engine,
          Communicator& ranks);

  /// From here on targets are mixed with what these teachers say, as train.teacher_weight has it.
  void learn_from(NextSymbols teachers) { teachers_ = std::move(teachers); }
  /// Makes step `step` (0-based): a function of weights, moments and that number. The step may have to be undone; else
  /// the averages are to follow it.
  StepResult make_step(std::int64_t step, const Heartbeat& heartbeat);
  void follow_averages() { engine->average(config.ema); }
  /// Weights, moments and averages as they were at some step.
  void restore(const ArenaSnapshot& snapshot);
  /// False if averages are kept and the checkpoint has none: they start from its trained weights. Error data as
  /// ParameterArena::load_model.
  bool load(const Checkpoint& checkpoint);
  /// The weights were changed in the arena, and averages begin with them.
  void start_from_weights();
  /// The arena, with what the engine has made of it since.
  ParameterArena& current();

  /// While it lives the averages, if there are any, are the weights.
  class AveragesInUse {
   public:
    explicit AveragesInUse(Learner& learner);
    ~AveragesInUse();
    AveragesInUse(const AveragesInUse&) = delete;
    AveragesInUse& operator=(const AveragesInUse&) = delete;

   private:
    Learner& learner_;
  };

  const ModelConfig& model;
  const TrainConfig& config;
  std::string device;
  ParameterArena arena;
  BatchSource batches;
  std::unique_ptr<Engine> engine;
  Communicator& ranks;
  SharedScorer scorer;  ///< of the engine, shared by the ranks

 private:
  SoftTargets soft_targets(std::span<const WindowBatch> micro_batches, const Heartbeat& heartbeat);

  const std::int64_t vocab_size_;
  NextSymbols teachers_;  ///< empty: none
  std::vector<float> q_;  ///< what they say of a step's windows
};

}  // namespace chargpt
