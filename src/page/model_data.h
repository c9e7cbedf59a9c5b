// A trained model as the page's JavaScript reads it (page/browser/model.js): options, symbols, and its weights in
// base64. Knows no run and no page.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "inference/model.h"
#include "text/vocabulary.h"

namespace chargpt {

/// Most numbers that a page holds, each in half precision.
constexpr std::int64_t most_page_parameters = 32 << 20;

/// {"config", "symbols", "bytes", "vocab_size", "tensors", "values"}: base64 of half-precision numbers (little-endian),
/// tensor after tensor. Error usage where the model has more than most_page_parameters.
nlohmann::ordered_json model_data(const InferenceModel& model, const Vocabulary& vocabulary);

}  // namespace chargpt
