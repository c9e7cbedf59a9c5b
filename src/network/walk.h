// What a model makes of one window, for people who want to see it: which tokens each head looks at, or every operation
// in order with its numbers. By the forward pass that scores windows, on one thread. Knows no text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "network/model.h"

namespace chargpt {

struct AttentionWeights {
  std::int64_t layers = 0, heads = 0, T = 0;
  /// (layers, heads, T, T): a row is a query's weights over all tokens, which sum to 1; 0 where it cannot see.
  std::vector<float> values;

  /// (T, T)
  std::span<const float> of_head(std::int64_t layer, std::int64_t head) const {
    return std::span(values).subspan(static_cast<std::size_t>((layer * heads + head) * T * T),
                                     static_cast<std::size_t>(T * T));
  }
};

/// Those of 1 to block_size ids, without dropout, for every model type: of `average` one head whose weights are alike;
/// of `bigram`, which attends to nothing, no layer. Error internal for another number of ids, or an id that the model
/// does not have.
AttentionWeights attention_weights(const InferenceModel& model, std::span<const std::int64_t> ids);

/// One operation. Shapes as in model_types.h, without B.
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
