// The teaching documents' models as the ladder's presets make them, at any size, and how a test sets their weights by
// name.
#pragma once

#include <cstdint>
#include <string>

#include "config/config.h"
#include "model/language_model.h"

namespace chargpt::seed {

/// The preset ladder/<rung>.
Config ladder(const std::string& rung);

/// Its model at another size; the hidden width of the feed-forward layer stays four times n_embd.
ModelConfig resized(const std::string& rung, std::int64_t n_embd, std::int64_t block_size, std::int64_t n_layer = 1);

/// Copies `value` into the parameter of that name; fails the test where there is none of that name and shape.
void set_parameter(torch::nn::Module& module, const std::string& name, const torch::Tensor& value);

/// [query; key; value]: three (C, C) weights as the one (3C, C) of our attention layer.
torch::Tensor packed(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value);

}  // namespace chargpt::seed
