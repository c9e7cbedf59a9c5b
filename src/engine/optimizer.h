// Update rules over one group's range of the flat buffers, in float32, on all threads; results are bit-identical for
// any number of threads. A new rule is a case here and in network/parameter_groups.cpp. Also exponential moving
// averages of the weights: often better than the last weights, and both are evaluated. Independent of models, engines
// and schedules.
#pragma once

#include "network/arena.h"

namespace chargpt {

struct UpdateContext {
  double lr_factor = 1;       ///< the schedule's learning rate / train.learning_rate
  double gradient_scale = 1;  ///< factor of the gradients (clipping)
  double beta1 = 0.9, beta2 = 0.99, eps = 1e-8;
};

/// Returns the context for finite gradients of this norm, with the options of `train`, at `lr_factor` times its rates.
/// Its gradient_scale limits the norm to train.grad_clip (0: never clips). Source: torch.nn.utils.clip_grad_norm_.
UpdateContext update_context(const TrainConfig& train, double gradient_norm, double lr_factor);

/// Updates every group by its own rule, and increments the arena's number of updates.
void update(ParameterArena& arena, const UpdateContext& context);

/// Weight of the current weights w in the average a after the arena's last update t: 1 - d in  a = d a + (1 - d) w
/// with d = min(decay, (1 + t) / (10 + t)), which discards the untrained first weights soon for any decay. (The same
/// ramp as TensorFlow's ExponentialMovingAverage with num_updates.)
double fresh_part(const ParameterArena& arena, double decay);
/// Updates the averages; call it after each update(). Does nothing if the arena does not average.
void follow_averages(ParameterArena& arena, double decay);
/// Swaps weights and averages.
void swap_averages(ParameterArena& arena);

}  // namespace chargpt
