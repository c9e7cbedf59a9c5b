// The exact loss of a whole split: every predictable token is scored once. Independent of random numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heartbeat.h"
#include "base/token_view.h"
#include "network/window_scorer.h"
#include "predict/predictor.h"
#include "text/corpus.h"

namespace chargpt {

/// The stride of windows that each start half a window after the previous one.
inline std::int64_t half_window(std::int64_t block_size) {
  return std::max<std::int64_t>(1, block_size / 2);
}

struct SplitLoss {
  /// Nats, one per scored token, in the order of the text: losses[i] is the loss of token i + 1.
  std::vector<float> losses;
  double mean = 0;
};

/// `losses` must have at least one element.
SplitLoss split_loss_of(std::vector<float> losses);
double mean_loss(std::span<const float> losses);

/// The mean loss of each tenth of the text, in order; lengths differ by at most one token. Fewer than ten losses: one
/// each.
std::vector<double> tenths_of(std::span<const float> losses);

/// Scores n - 1 tokens in consecutive windows of block_size from 0 (x = ids[s, s+T), y = ids[s+1, s+T+1)), the last one
/// short. 0 < `stride` < block_size: windows start every `stride` tokens, and only targets that are not in an earlier
/// window are scored: the last `stride` of each window after the first. 0 is block_size: no overlap. Throws Error data
/// for a split of fewer than 2 tokens, usage for a stride outside 0..block_size.
SplitLoss split_loss(WindowScorer& scorer, TokenView split, std::int64_t block_size, std::int64_t stride = 0,
                     const Heartbeat& heartbeat = {});

/// Scores the windows one by one; the predictor learns from the scored targets of each before the next
/// (Predictor::score_and_learn). Stride 0 is half_window() here. Throws the errors of split_loss().
SplitLoss adaptive_loss(Predictor& predictor, TokenView split, std::int64_t block_size, std::int64_t stride = 0,
                        const Heartbeat& heartbeat = {});

/// Mean loss of `count` evenly spaced windows: the fixed training sample beside a validation loss, or a sampled
/// evaluation. If the text of `cut` has documents, these are its windows; else of its length, at floor(i (n - length) /
/// count). A text shorter than a window is one window; each window is scored at most once. Throws Error data for a text
/// of fewer than 2 tokens, usage for count < 1.
double sampled_loss(WindowScorer& scorer, const WindowCut& cut, std::int64_t count, const Heartbeat& heartbeat = {});

}  // namespace chargpt
