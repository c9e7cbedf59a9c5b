// The commands of the half of the program that has LibTorch, and what else it adds: see cli/training_half.h.
#pragma once

#include "cli/training_half.h"

namespace chargpt {

void add_train(Options& options);
void add_resume(Options& options);
void add_compare(Options& options);
void add_tune(Options& options);
void add_bench(Options& options);
void add_doctor(Options& options);

/// All of it.
const TrainingHalf& whole_training_half();

}  // namespace chargpt
