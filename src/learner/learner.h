// What learns: a model, its optimizer's moments, its averaged weights, the batches it is shown and the engine that
// computes a step. Knows no run: no clock, no policy, no evaluation and no listener.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "engine/engine.h"
#include "learner/batches.h"
#include "learner/device_steps.h"
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
  /// undone; else follow() is to be called. On a GPU it may make those after it too, up to `end`: their results are
  /// then given in turn, without work, and until they are, weights, moments and averages are those after the last of
  /// them.
  StepResult make_step(std::int64_t step, std::int64_t end, const Heartbeat& heartbeat);
  /// Steps that are made but not asked for yet.
  std::int64_t steps_ahead() const { return std::ssize(ahead); }
  /// The averages follow the step.
  void follow();
  /// What the user should know of how steps are made; empty: nothing new.
  std::string take_notice();
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
  SharedScorer scorer;                                          ///< of the engine, shared by the ranks
  std::unique_ptr<DeviceSteps> device_steps;                    ///< null where each step is made by itself
  std::int64_t most_steps_at_once = DeviceSteps::most_at_once;  ///< that make_step() makes in one call
  std::deque<StepResult> ahead;
};

}  // namespace chargpt
