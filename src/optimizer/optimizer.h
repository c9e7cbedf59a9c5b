// Update rules over one group's flat buffers, always in float32. A new rule is a row in optimizer.cpp and one in
// inference/update_rule.cpp. Knows no model, no engine and no schedule.
#pragma once

#include "parameters/arena.h"

namespace chargpt {

struct UpdateContext {
  double lr_factor = 1;       ///< the schedule's rate over train.learning_rate
  double gradient_scale = 1;  ///< gradients, but not those of tables, are multiplied by this first (clipping)
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

/// What changes from step to step, as 0-d tensors on the arena's device: a step that is recorded there and repeated
/// reads them anew.
struct DeviceFactors {
  torch::Tensor lr_factor;       ///< float32
  torch::Tensor gradient_scale;  ///< float32
  torch::Tensor updates;         ///< float32: how many, with this one
  torch::Tensor applies;         ///< bool; false: nothing changes, whatever the gradients are
};

/// Whether every group's rule can be applied by device_update(): not those for tables, whose rows differ in number.
bool has_device_update(const ParameterArena& arena);

/// clipping_factor() of a norm on a device.
torch::Tensor device_clipping_factor(const torch::Tensor& gradient_norm, double grad_clip);

/// The update() of `train`, which neither waits for the device nor transfers, so that it can be recorded; the arena
/// does not count it. Moments must have been started.
void device_update(ParameterArena& arena, const TrainConfig& train, const DeviceFactors& factors);

}  // namespace chargpt
