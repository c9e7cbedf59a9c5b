// The exact loss of a whole split: every predictable token scored once. No randomness.
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

/// The stride of windows each of which begins half a window after the one before.
inline std::int64_t half_window(std::int64_t block_size) {
  return std::max<std::int64_t>(1, block_size / 2);
}

struct SplitLoss {
  /// Nats, one per scored token, in the order of the text: losses[i] is that of token i + 1.
  std::vector<float> losses;
  double mean = 0;
  std::int64_t tokens = 0;
};

/// Of at least one loss.
SplitLoss split_loss_of(std::vector<float> losses);
double mean_loss(std::span<const float> losses);

/// How much a loss varies along the text: the mean loss of each tenth, in order; tenths differ by one token at most.
/// Fewer than ten losses: each stands alone. Where `text` has documents (losses[i] is that of its token i + 1), tenths
/// hold whole ones, the last in each longer by what is left of it; a document that fills several leaves fewer.
std::vector<double> tenths_of(std::span<const float> losses, const TokenView& text = {});

/// Consecutive windows of block_size from 0 (x = ids[s, s+T), y = ids[s+1, s+T+1)), the last one short: n - 1 tokens
/// scored. 0 < `stride` < block_size: windows begin every `stride` tokens, and of all but the first only the targets
/// that no earlier window held are scored: the last `stride` of each, fewer of the short last one. 0 is block_size: no
/// overlap. Errors: data for a split of fewer than 2 tokens, usage for a stride outside 0..block_size.
SplitLoss split_loss(WindowScorer& scorer, TokenView split, std::int64_t block_size, std::int64_t stride = 0,
                     const Heartbeat& heartbeat = {});

/// The same, windows one by one, the predictor learning from the scored targets of each before it sees the next
/// (Predictor::score_and_learn). Stride 0 is half_window() here.
SplitLoss adaptive_loss(Predictor& predictor, TokenView split, std::int64_t block_size, std::int64_t stride = 0,
                        const Heartbeat& heartbeat = {});

/// Mean loss of `count` evenly spaced windows: the fixed train sample beside a validation loss, or a sampled
/// evaluation. Where `cut`'s text has documents they are its windows, else of its length, with begins
/// floor(i (n - length) / count). A text shorter than a window is one window; no window is scored twice. Errors: data
/// for a text of fewer than 2 tokens, usage for count < 1.
double sampled_loss(WindowScorer& scorer, const WindowCut& cut, std::int64_t count, const Heartbeat& heartbeat = {});

}  // namespace chargpt
