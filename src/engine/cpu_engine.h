// The CPU engine, for every model type: each thread runs its sequences through the whole model, forward and backward.
// It is tested against LibTorch.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace chargpt {

/// If kernels for bfloat16 are missing, train.dtype = bfloat16 is computed in float32.
std::unique_ptr<Engine> make_cpu_engine(const EngineRequest& request);

}  // namespace chargpt
