// Every operation of a model on one window, in order, with what it makes: for people who want to see each number. By
// the forward pass that scores windows, on one thread. Knows no text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inference/model.h"

namespace chargpt {

/// One operation. Shapes as in dimensions.h, without B.
struct Operation {
  std::int64_t layer = -1;  ///< -1: before the first block or after the last
  std::string name;         ///< "queries"
  std::string formula;      ///< "q = W_q x + b_q"
  std::vector<std::int64_t> shape;
  std::vector<float> values;    ///< row-major
  std::int64_t parameters = 0;  ///< of this operation alone
};

/// From embeddings to probabilities, of 1 to block_size ids, for every model type. Scores and attention weights are
/// (nh, T): of the last token alone. Errors as attention_weights().
std::vector<Operation> walk(const InferenceModel& model, std::span<const std::int64_t> ids);

}  // namespace chargpt
