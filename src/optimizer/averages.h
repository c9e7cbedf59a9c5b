// Exponentially averaged weights, a buffer of each group of an arena: often better than the last ones, and never worse
// to have, since both are evaluated. Knows no training loop.
//
// After update t the average is  a = d a + (1 - d) w  with  d = min(decay, (1 + t) / (10 + t)):  the first weights,
// which know nothing, are forgotten soon however large the decay. (The ramp is that of TensorFlow's
// ExponentialMovingAverage with num_updates.)
#pragma once

#include "checkpoint/checkpoint.h"
#include "parameters/arena.h"

namespace chargpt {

/// The arena averages its weights from now on, beginning with those that it has.
void start_averages(ParameterArena& arena);
bool has_averages(const ParameterArena& arena);
/// How much of the average comes from the weights of the arena's last update: 1 - d.
double fresh_part(const ParameterArena& arena, double decay);
/// To be called after each update, which the arena has counted; nothing where it has no averages.
void follow_averages(ParameterArena& arena, double decay);
/// Averages of `checkpoint`, where the arena has some; where the checkpoint has none they begin with the arena's
/// weights, and false. Error data as ParameterArena::load_model.
bool load_averages(ParameterArena& arena, const Checkpoint& checkpoint);
/// Weights and averages change places.
void swap_averages(ParameterArena& arena);

}  // namespace chargpt
