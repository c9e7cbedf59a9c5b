// The reference engine: LibTorch's autograd, any model, any device.
#pragma once

#include <memory>

#include "compute/engine.h"

namespace chargpt {

std::unique_ptr<Engine> make_autograd_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train);

}  // namespace chargpt
