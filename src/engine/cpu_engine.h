// The engine for the gpt family on the CPU: every thread takes its sequences through the whole model, forward and
// backward. Models it does not cover are computed by the autograd engine, which it is tested against.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace chargpt {

/// The CPU engine, or null with the reason, "model.norm_place = post", where it does not cover the model.
std::unique_ptr<Engine> make_cpu_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train,
                                        std::string& why_not);

}  // namespace chargpt
