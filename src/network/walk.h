// Shows how a model processes one window: the attention weights of each head, or every operation in order with its
// values. Uses the forward pass for scoring, on one thread. Independent of texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "network/model.h"

namespace chargpt {

struct AttentionWeights {
  std::int64_t layers = 0, heads = 0, T = 0;
  /// (layers, heads, T, T): a row has a query's weights over all tokens; they sum to 1, and masked tokens have 0.
  std::vector<float> values;

  /// The weights of one head: (T, T).
  std::span<const float> of_head(std::int64_t layer, std::int64_t head) const {
    return std::span(values).subspan(static_cast<std::size_t>((layer * heads + head) * T * T),
                                     static_cast<std::size_t>(T * T));
  }
};

/// Attention weights of 1 to block_size ids, without dropout, for every model type: for `average` one head with equal
/// weights, for `bigram` zero layers. Throws Error internal for another number of ids, or if an id is not in the
/// vocabulary.
AttentionWeights attention_weights(const InferenceModel& model, std::span<const std::int64_t> ids);

/// One operation. Shapes use the letters of model_types.h, without B.
struct Operation {
  std::int64_t layer = -1;  ///< -1: before the first block or after the last
  std::string name;         ///< "queries"
  std::string formula;      ///< "q = W_q x + b_q"
  std::vector<std::int64_t> shape;
  std::vector<float> values;    ///< row-major
  std::int64_t parameters = 0;  ///< number of parameters that only this operation uses
};

/// Returns the operations from embeddings to probabilities for 1 to block_size ids, for every model type. Scores and
/// attention weights are (nh, T): only for the last token. Throws the errors of attention_weights().
std::vector<Operation> walk(const InferenceModel& model, std::span<const std::int64_t> ids);

}  // namespace chargpt
