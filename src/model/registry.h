// The table of model types, and the one way to make a model. A new type is a row in registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "model/language_model.h"

namespace chargpt {

struct ModelType {
  std::string_view name;
  std::string_view insight;  ///< one line: what a learner should see in it
  std::shared_ptr<LanguageModel> (*make)(const ModelConfig& config, std::int64_t vocab_size);
  std::int64_t (*count_parameters)(const ModelConfig& config, std::int64_t vocab_size);
};

/// From simplest to full: bigram, average, masked, attention, gpt.
std::span<const ModelType> model_types();

/// Error usage where the type is unknown (with the nearest) or options do not fit together ("model.n_head = 5 does not
/// divide model.n_embd = 128; 4 or 8 would").
void check_model_config(const ModelConfig& config);

/// Distinct parameters of such a model, without building it: what a plan shows and what a machine must hold.
std::int64_t count_parameters(const ModelConfig& config, std::int64_t vocab_size);

/// A model with weights that are a pure function of (config, vocab_size, seed); on the CPU, float32. Error
/// memory where the weights alone are more than this machine has.
std::shared_ptr<LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, std::uint64_t seed);

}  // namespace chargpt
