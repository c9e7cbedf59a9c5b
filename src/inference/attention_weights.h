// Which tokens each head looks at in one window. By the forward pass that scores windows, on one thread. Knows no text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/forward.h"
#include "inference/model.h"

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

/// Scaled scores of one head from what a forward pass makes as Made::qkv: (T, T), a row for each query, later keys not
/// yet masked.
std::vector<float> attention_scores(const cpu::Plan& plan, const cpu::MadeValues& qkv, std::int64_t head);

/// Of one row, in place.
void softmax(std::span<float> row);

}  // namespace chargpt
