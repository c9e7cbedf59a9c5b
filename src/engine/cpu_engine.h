// The engine of the CPU, for every model type: each thread takes its sequences through the whole model, forward and
// backward. It is tested against LibTorch.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace chargpt {

/// Computes train.dtype = bfloat16 in float32 where there are no kernels for it.
std::unique_ptr<Engine> make_cpu_engine(const EngineRequest& request);

}  // namespace chargpt
