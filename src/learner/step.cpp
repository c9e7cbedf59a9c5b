#include "learner/step.h"

#include "optimizer/optimizer.h"

namespace chargpt {

StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input) {
  const Gradients gradients = engine.gradients(input);
  if (gradients.finite) clip_and_update(arena, train, gradients.norm, lr_factor);
  return {.loss = gradients.loss, .grad_norm = gradients.norm, .updated = gradients.finite};
}

}  // namespace chargpt
