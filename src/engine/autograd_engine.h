// The reference engine: LibTorch's autograd, any model, any device.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace chargpt {

/// `notice`: see Engine::notice. On a GPU the texts of its windows must stay in memory, unchanged, while it lives.
std::unique_ptr<Engine> make_autograd_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train,
                                             const std::string& notice = {});

}  // namespace chargpt
