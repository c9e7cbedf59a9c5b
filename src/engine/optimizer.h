// Update rules over one group's range of the flat buffers, always in float32, by all threads in force: their number
// changes no bit. A new rule is a case here and in network/parameter_groups.cpp. And exponentially averaged weights:
// often better than the last ones, and never worse to have, since both are evaluated. Knows no model, no engine
// and no schedule.
#pragma once

#include "network/arena.h"

namespace chargpt {

struct UpdateContext {
  double lr_factor = 1;       ///< the schedule's rate over train.learning_rate
  double gradient_scale = 1;  ///< gradients are multiplied by this first (clipping)
  double beta1 = 0.9, beta2 = 0.99, eps = 1e-8;
};

/// Of an update by gradients of that norm, which are finite, as `train` says, at `lr_factor` of its rates.
UpdateContext update_context(const TrainConfig& train, double gradient_norm, double lr_factor);

/// One update of every group by its own rule; the arena counts it.
void update(ParameterArena& arena, const UpdateContext& context);

/// What clipping multiplies gradients by so that their norm is at most `grad_clip` (0: never). Source:
/// torch.nn.utils.clip_grad_norm_.
double clipping_factor(double gradient_norm, double grad_clip);

/// The arena averages its weights from now on, beginning with those that it has.
void start_averages(ParameterArena& arena);
/// How much of the average a comes from the weights w of the arena's last update t: 1 - d of  a = d a + (1 - d) w  with
/// d = min(decay, (1 + t) / (10 + t)): the first weights, which know nothing, are forgotten soon however large the
/// decay. (The ramp is that of TensorFlow's ExponentialMovingAverage with num_updates.)
double fresh_part(const ParameterArena& arena, double decay);
/// To be called after each update, which the arena has counted; nothing where it has no averages.
void follow_averages(ParameterArena& arena, double decay);
/// Weights and averages change places.
void swap_averages(ParameterArena& arena);

}  // namespace chargpt
