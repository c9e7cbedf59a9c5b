// Update rules over one group's flat buffers, always in float32. A new rule is a row in optimizer.cpp and one in
// inference/update_rule.cpp. Knows no model, no engine and no schedule.
#pragma once

#include "parameters/arena.h"

namespace chargpt {

struct UpdateContext {
  double lr_factor = 1;       ///< the schedule's rate over train.learning_rate
  double gradient_scale = 1;  ///< gradients are multiplied by this first (clipping)
  double beta1 = 0.9, beta2 = 0.99, eps = 1e-8;
};

/// One update of every group by its own rule; the arena counts it.
void update(ParameterArena& arena, const UpdateContext& context);

/// What clipping multiplies gradients by so that their norm is at most `grad_clip` (0: never). Source:
/// torch.nn.utils.clip_grad_norm_.
double clipping_factor(double gradient_norm, double grad_clip);

/// One update by gradients of that norm, which are finite: clipped and applied as `train` says, at `lr_factor` of its
/// rates.
void clip_and_update(ParameterArena& arena, const TrainConfig& train, double gradient_norm, double lr_factor);

}  // namespace chargpt
