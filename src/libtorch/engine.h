// The reference engine: LibTorch's autograd on the modules of model/, for any model and device. On the CPU its tensors
// are views of the arena's buffers; on a GPU it updates its own copies and copies them to the arena on request.
// Independent of runs.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "model/language_model.h"

namespace chargpt {

/// Creates an engine with the model of the request. On a GPU the texts of its windows must stay in memory, unchanged,
/// during its lifetime.
std::unique_ptr<Engine> make_libtorch_engine(const EngineRequest& request);
/// Creates an engine with a model whose parameters have the names and shapes of the arena's.
std::unique_ptr<Engine> make_libtorch_engine(std::shared_ptr<LanguageModel> model, const EngineRequest& request);

}  // namespace chargpt
