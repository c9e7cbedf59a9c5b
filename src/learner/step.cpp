#include "learner/step.h"

#include "learner/shared_step.h"

namespace chargpt {

StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input, Communicator& ranks) {
  Gradients gradients = engine.gradients(input);
  if (!ranks.alone()) {
    engine.give_gradients();
    gradients = summed(ranks, arena, gradients);
    engine.take_gradients();
  }
  if (gradients.finite) engine.update(update_context(train, gradients.norm, lr_factor));
  return {.loss = gradients.loss, .grad_norm = gradients.norm, .updated = gradients.finite};
}

StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input) {
  OneProcess alone;
  return make_step(engine, arena, train, lr_factor, input, alone);
}

}  // namespace chargpt
