// What learns: parameters with their moments and averages, the batches they are shown, and the engine that computes a
// step. Several processes sum their parts of the gradients before the update, and share the
// windows that they score. Independent of the run: clock, policies, evaluation, listeners, and of how processes send
// messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "engine/engine.h"
#include "network/arena.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "train/batches.h"
#include "train/communicator.h"

namespace chargpt {

struct StepResult {
  double loss = 0;       ///< mean over all micro-batches, nats per token, before the update
  double grad_norm = 0;  ///< before clipping
  bool updated = true;   ///< false where loss or gradient was not finite: weights and moments are as before
};

/// At `lr_factor` of the rates in `train`, by the gradients of all ranks' parts together. What the input's heartbeat
/// throws drops the update whole: weights and moments are as before.
StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input, Communicator& ranks);

/// Parts of the gradients, in the arena, become the whole, the same bits on every rank. Returns what the whole step's
/// are.
Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part);

/// Error data, the same line on every rank, where one has another sum than rank 0: "rank 1 " + `difference`.
void check_same(Communicator& ranks, std::uint64_t sum, const std::string& difference);

/// Scores windows that every rank is given, each a part of them: all have all losses, with the bits of one process.
class SharedScorer : public WindowScorer {
 public:
  SharedScorer(WindowScorer& own, Communicator& ranks) : own_(own), ranks_(ranks) {}
  std::int64_t tokens_at_once() const override { return own_.tokens_at_once(); }
  void score(const WindowBatch& windows, std::span<float> losses) override;

 private:
  WindowScorer& own_;
  Communicator& ranks_;
};

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
  /// Makes step `step` (0-based) at `lr_factor` of the rates: a function of weights, moments and these numbers. The
  /// averages are to follow it.
  StepResult make_step(std::int64_t step, double lr_factor, const Heartbeat& heartbeat);
  void follow_averages() { engine->average(config.ema); }
  /// False if averages are kept and the checkpoint has none: they start from its trained weights. Error data as
  /// ParameterArena::load_model.
  bool load(const Checkpoint& checkpoint);
  /// The weights were changed in the arena, and averages begin with them.
  void start_from_weights();
  /// The arena, with what the engine has made of it since.
  ParameterArena& current();

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
