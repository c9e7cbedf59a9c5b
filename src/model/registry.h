// The one way to make a model as a LibTorch module. A new type is a row in registry.cpp, one in
// inference/model_types.cpp and one in inference/plan.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "model/language_model.h"

namespace chargpt {

/// A model with weights that are a pure function of (config, vocab_size, seed); on the CPU, float32. Error
/// memory if the weights alone are more than this machine has.
std::shared_ptr<LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, std::uint64_t seed);

}  // namespace chargpt
