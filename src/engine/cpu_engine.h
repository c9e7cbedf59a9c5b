// The engine for the gpt family on the CPU: every thread takes its sequences through the whole model, forward and
// backward. Models it does not cover are computed by the autograd engine, which it is tested against.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace chargpt {

/// The CPU engine, or null with the reason, "model.norm_place = post", where it does not cover the model.
std::unique_ptr<Engine> make_cpu_engine(LanguageModel& model, ParameterArena& arena, const TrainConfig& train,
                                        std::string& why_not);

/// The option for which the engine does not cover the model, "model.norm_place = post"; empty where it does.
std::string cpu_engine_lacks(const ModelConfig& config);

/// Bytes of what the engine's threads compute in, beside the parameters.
struct CpuEngineMemory {
  double training = 0;  ///< activations of a step, gradients of all threads but the first
  double scoring = 0;   ///< activations of an evaluation
  double packed = 0;    ///< weights in the order in which matmuls read them
};

/// Of steps as `config`, which must pass check_model_config() and be covered, has them.
CpuEngineMemory cpu_engine_memory(const Config& config, std::int64_t vocab_size, std::int64_t parameters,
                                  std::int64_t threads);

}  // namespace chargpt
