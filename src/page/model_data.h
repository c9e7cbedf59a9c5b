// A trained model as the page's JavaScript reads it (page/browser/model.js): options, symbols, and its weights in
// base64. Knows no run and no page.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "base/names.h"
#include "inference/model.h"
#include "text/vocabulary.h"

namespace chargpt {

/// What a weight is kept as. automatic: float32 while that is at most 4 MB, then float16 up to 32 MB, then int8.
/// int8: of matrices, each row with a scale of its own, the largest of its absolute values / 127; vectors stay float32.
CHARGPT_ENUM(StoredAs, automatic, float32, float16, int8);

/// Most bytes of weights that a page holds.
constexpr std::int64_t most_page_weights = 64 << 20;

/// {"config", "symbols", "bytes", "vocab_size", "stored", "tensors", "values"}. Error usage where the weights take more
/// than most_page_weights.
nlohmann::ordered_json model_data(const InferenceModel& model, const Vocabulary& vocabulary, StoredAs stored);

}  // namespace chargpt
