// One step: an engine's gradients, then the update. Several processes sum their parts of the gradients between the two,
// and share the windows that they score. Knows no run and no transport.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/engine.h"
#include "ranks/communicator.h"

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
/// The same of one process.
StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input);

/// Parts of the gradients, in the arena, become the whole, the same bits on every rank. Returns what the whole step's
/// are.
Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part);

/// Error data, the same line on every rank, where one has another sum than rank 0: "rank 1 " + `difference`.
void check_same(Communicator& ranks, std::uint64_t sum, const std::string& difference);

/// Scores windows that every rank is given, each a part of them: all have all losses, with the bits of one process.
class SharedScorer : public WindowScorer {
 public:
  SharedScorer(WindowScorer& own, Communicator& ranks) : own_(own), ranks_(ranks) {}
  void score(const WindowBatch& windows, std::span<float> losses) override;

 private:
  WindowScorer& own_;
  Communicator& ranks_;
};

}  // namespace chargpt
