// What learns: a model, its optimizer's moments, its averaged weights, the batches it is shown and the engine that
// computes a step. Knows no run: no clock, no policy, no evaluation and no listener.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "engine/engine.h"
#include "learner/batches.h"
#include "learner/shared_step.h"
#include "learner/step.h"
#include "model/language_model.h"
#include "optimizer/averages.h"
#include "text/corpus.h"

namespace chargpt {

/// Weights, moments and averages after some step.
struct LearnerSnapshot {
  ArenaSnapshot arena;
  AveragedWeights averages;
};

struct Learner {
  /// Fresh weights from (config, seed) on `device`; `config` must outlive it. Errors: usage for options that do not fit
  /// together, and as make_engine.
  /// `ranks`, which must outlive it: the processes that share its steps.
  Learner(const Config& config, const Corpus& corpus, const torch::Device& device, const std::string& engine,
          Communicator& ranks);

  /// Makes step `step` (0-based): a function of weights, moments, averages and that number. The step may have to be
  /// undone; else the averages are to follow it.
  StepResult make_step(std::int64_t step, const Heartbeat& heartbeat);
  LearnerSnapshot snapshot();
  void restore(const LearnerSnapshot& snapshot);
  /// False if averages are kept and the checkpoint has none: they start from its trained weights. Error data as
  /// ParameterArena::load_model.
  bool load(const Checkpoint& checkpoint);

  const TrainConfig& config;
  torch::Device device;
  std::shared_ptr<LanguageModel> model;
  ParameterArena arena;
  AveragedWeights averages;  ///< none if train.ema = 0
  BatchSource batches;
  std::unique_ptr<Engine> engine;
  Communicator& ranks;
  SharedScorer scorer;  ///< of the engine, shared by the ranks
};

}  // namespace chargpt
