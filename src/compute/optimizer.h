// Update rules over one group's flat buffers, always in float32. A new rule is a row in optimizer.cpp. Knows no model
// and no schedule.
#pragma once

#include "compute/arena.h"

namespace chargpt {

struct UpdateContext {
  double lr_factor = 1;       ///< the schedule's rate over train.learning_rate
  double gradient_scale = 1;  ///< gradients, but not those of tables, are multiplied by this first (clipping)
  double beta1 = 0.9, beta2 = 0.99, eps = 1e-8;
};

/// What a rule keeps of each parameter between updates.
struct MomentsKept {
  bool first = false, second = false;
};
MomentsKept moments_kept(UpdateRule rule);
/// The rule reads the gradients of touched rows, ParameterGroup::row_gradient.
bool is_row_sparse(UpdateRule rule);

/// The rule can update parameters of so many dimensions.
bool updates_dimensions(UpdateRule rule, std::int64_t dimensions);

/// One update of every group by its own rule; the arena counts it.
void update(ParameterArena& arena, const UpdateContext& context);

/// What clipping multiplies gradients by so that their norm is at most `grad_clip` (0: never). Source:
/// torch.nn.utils.clip_grad_norm_.
double clipping_factor(double gradient_norm, double grad_clip);

}  // namespace chargpt
