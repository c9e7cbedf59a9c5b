// The engine for the gpt family on the CPU: every thread takes its sequences through the whole model, forward and
// backward. Others are computed by LibTorch, which it is tested against.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace chargpt {

/// Of a model that it covers.
std::unique_ptr<Engine> make_cpu_engine(const EngineRequest& request);

/// The option for which the engine does not cover them, "model.norm_place = post"; empty where it does.
std::string cpu_engine_lacks(const ModelConfig& model, const TrainConfig& train);

}  // namespace chargpt
