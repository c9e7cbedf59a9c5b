// The types of model as LibTorch modules, and the one way to make one. A new type is a class and a row in registry.cpp,
// a row in network/model_types.cpp and a line in network/plan.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "model/language_model.h"

namespace chargpt {

/// A model whose weights are for others to set; on the CPU, float32.
std::shared_ptr<LanguageModel> make_module(const ModelConfig& config, std::int64_t vocab_size);

}  // namespace chargpt
