// The reference engine: LibTorch's autograd on the modules of model/, any model, any device. On the CPU its tensors are
// views of the arena's buffers; on a GPU they are its own, updated there, and the arena gets values when it asks. Knows
// no run.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "model/language_model.h"

namespace chargpt {

/// Of the model that the request describes. On a GPU the texts of its windows must stay in memory, unchanged, while it
/// lives.
std::unique_ptr<Engine> make_libtorch_engine(const EngineRequest& request);
/// Of a model whose parameters have the names and shapes of the arena's.
std::unique_ptr<Engine> make_libtorch_engine(std::shared_ptr<LanguageModel> model, const EngineRequest& request);

}  // namespace chargpt
