// The trainable state: parameters with moments and averages, their batches, and the engine that computes steps. Several
// ranks sum their gradients before each update, and divide the windows to score. Independent of the run (clock,
// policies, evaluation, listeners) and of how ranks exchange messages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/engine.h"
#include "network/arena.h"
#include "run/checkpoint.h"
#include "text/corpus.h"
#include "train/batches.h"
#include "train/communicator.h"
#include "train/teachers.h"

namespace chargpt {

/// Computes the gradients of all ranks and, if they are finite(), updates the weights with `lr_factor` times the rates
/// in `train`. If the input's heartbeat throws, nothing is updated.
Gradients make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                    const GradientInput& input, Communicator& ranks);

/// Sums the gradients in the arena over all ranks, with the same bits on each. Returns loss and gradient norm of the
/// whole step.
Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part);

/// Divides windows among the ranks and scores them. All ranks get all losses, with the same bits as on one process.
class SharedScorer : public WindowScorer {
 public:
  SharedScorer(WindowScorer& own, Communicator& ranks) : own_(own), ranks_(ranks) {}
  std::int64_t tokens_at_once() const override { return own_.tokens_at_once(); }
  void score(const WindowBatch& windows, std::span<float> losses) override;

 private:
  WindowScorer& own_;
  Communicator& ranks_;
};

struct Learner {
  /// Makes initial weights from (config, seed, symbols) on `device`, a result of choose_device(). Targets are mixed
  /// with the predictions of `teachers`, weighted by train.teacher_weight. `config`, `teachers` and `ranks` (the
  /// processes that share each step) must outlive it. Errors: usage for options that contradict each other; as
  /// make_engine.
  Learner(const Config& config, const Corpus& corpus, Teachers& teachers, const std::string& device,
          const std::string& engine, Communicator& ranks);

  /// Makes step `step` (0-based) with `lr_factor` times the rates. It depends on weights, moments and these numbers
  /// only. Call follow_averages() afterwards.
  Gradients make_step(std::int64_t step, double lr_factor, const Heartbeat& heartbeat);
  void follow_averages() { engine->average(config.ema); }
  /// Loads weights, moments and averages. Returns false if this run keeps averages and the checkpoint has none: they
  /// then start from its trained weights. Errors: data and diverged as read_weights.
  bool load(const Checkpoint& checkpoint);
  /// Tells the engine that the weights in the arena have changed, and restarts the averages from them.
  void start_from_weights();
  /// The arena, brought up to date with the engine.
  ParameterArena& current();

  const ModelConfig& model;
  const TrainConfig& config;
  std::string device;
  ParameterArena arena;
  BatchSource batches;
  std::unique_ptr<Engine> engine;
  Communicator& ranks;
  SharedScorer scorer;  ///< scores with the engine of each rank

 private:
  Teachers& teachers_;
};

}  // namespace chargpt
