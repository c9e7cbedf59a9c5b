// One step: an engine's gradients, then the update. Between the two several processes sum theirs.
#pragma once

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

}  // namespace chargpt
