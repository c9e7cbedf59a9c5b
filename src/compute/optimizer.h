// Update rules over one group's flat buffers. A new rule is a row in optimizer.cpp. Knows no model and no schedule.
#pragma once

#include <cstdint>
#include <string>

#include "compute/arena.h"

namespace chargpt {

struct UpdateContext {
  std::int64_t step = 0;          ///< 1 for the first update (bias correction)
  double lr_factor = 1;           ///< the schedule's rate over train.learning_rate
  double gradient_scale = 1;      ///< gradients are multiplied by this first (clipping)
  double beta1 = 0.9, beta2 = 0.99, eps = 1e-8;
};

/// One update of every group by its own rule. Error usage where a group names an unknown rule.
void update(ParameterArena& arena, const UpdateContext& context);

}  // namespace chargpt
