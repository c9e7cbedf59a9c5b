// Update rules over one group's flat buffers, always in float32, by all threads in force: their number changes no bit.
// A new rule is a row in optimizer.cpp and one in inference/update_rule.cpp. Knows no model, no engine and no schedule.
#pragma once

#include "parameters/arena.h"

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

/// body(begin, end) on the threads in force: [0, n) in parts that begin at cache lines, one for each thread with enough
/// to do.
void on_parts(std::int64_t n, const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace chargpt
