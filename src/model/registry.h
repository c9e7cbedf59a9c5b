// The model types as LibTorch modules, and the function that creates them. A new type is a class and a row in
// registry.cpp, a row in network/model_types.cpp and a line in network/plan.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "model/language_model.h"

namespace chargpt {

/// Creates a model on the CPU in float32. The caller sets its weights.
std::shared_ptr<LanguageModel> make_module(const ModelConfig& config, std::int64_t vocab_size);

}  // namespace chargpt
