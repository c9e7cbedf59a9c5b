#include "evaluate/split_loss.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"

namespace chargpt {
namespace {

void check_split(TokenView split) {
  if (split.size() < 2)
    throw Error(ExitCode::data, "the split has ", split.size(),
                " tokens; a loss needs at least 2, one to predict from and one to predict");
}

void check_stride(std::int64_t stride, std::int64_t block_size, const std::string& meaning_of_0) {
  if (stride < 0 || stride > block_size)
    throw Error(ExitCode::usage, "stride ", stride, " is outside 1 to block_size ", block_size, "; 0 means ",
                meaning_of_0);
}

/// Scores `count` windows, window_at(0) first, as many of equal length at once as the scorer takes. Calls take(window,
/// losses) with the losses (T) of each, in order.
template <class WindowAt, class Take>
void score_windows(WindowScorer& scorer, TokenView split, std::int64_t count, const WindowAt& window_at,
                   const Take& take, const Heartbeat& heartbeat) {
  for (std::int64_t first = 0; first < count;) {
    const std::int64_t length = window_at(first).length;
    const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, scorer.tokens_at_once() / length));
    std::vector<WindowCut::Window> windows;
    std::vector<std::int64_t> begins;
    for (; first < count && windows.size() < at_once && window_at(first).length == length; ++first) {
      windows.push_back(window_at(first));
      begins.push_back(windows.back().begin);
    }
    std::vector<float> losses(windows.size() * static_cast<std::size_t>(length));
    scorer.score({.tokens = split, .starts = begins, .T = length}, losses);
    std::span<const float> left = losses;
    for (const WindowCut::Window& window : windows) {
      take(window, left.first(static_cast<std::size_t>(length)));
      left = left.subspan(static_cast<std::size_t>(length));
    }
    beat(heartbeat, first, count);
  }
}

}  // namespace

SplitLoss split_loss_of(std::vector<float> losses) {
  const double mean = mean_loss(losses);
  return {.losses = std::move(losses), .mean = mean};
}

double mean_loss(std::span<const float> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

std::vector<double> tenths_of(std::span<const float> losses) {
  const std::size_t parts = std::min<std::size_t>(10, losses.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = losses.size() * i / parts, end = losses.size() * (i + 1) / parts;
    means.push_back(mean_loss(losses.subspan(begin, end - begin)));
  }
  return means;
}

SplitLoss split_loss(WindowScorer& scorer, TokenView split, std::int64_t block_size, std::int64_t stride,
                     const Heartbeat& heartbeat) {
  check_split(split);
  check_stride(stride, block_size, "no overlap");
  const WindowCut windows(split, block_size, stride == 0 ? block_size : stride);
  std::vector<float> losses;
  losses.reserve(static_cast<std::size_t>(split.size() - 1));
  const auto take = [&losses](const WindowCut::Window& window, std::span<const float> row) {
    losses.insert(losses.end(), row.begin() + window.from, row.begin() + window.to);
  };
  score_windows(
      scorer, split, windows.count(), [&](std::int64_t i) { return windows[i]; }, take, heartbeat);
  return split_loss_of(std::move(losses));
}

SplitLoss adaptive_loss(Predictor& predictor, TokenView split, std::int64_t block_size, std::int64_t stride,
                        const Heartbeat& heartbeat) {
  check_split(split);
  check_stride(stride, block_size, "half of block_size");
  const WindowCut windows(split, block_size, stride == 0 ? half_window(block_size) : stride);
  std::vector<float> losses(static_cast<std::size_t>(split.size() - 1));
  for (std::int64_t i = 0; i < windows.count(); ++i) {
    const WindowCut::Window window = windows[i];
    predictor.score_and_learn(split, window,
                              std::span(losses).subspan(static_cast<std::size_t>(window.begin + window.from),
                                                        static_cast<std::size_t>(window.to - window.from)));
    beat(heartbeat, window.begin + window.to, split.size() - 1);
  }
  return split_loss_of(std::move(losses));
}

double sampled_loss(WindowScorer& scorer, const WindowCut& cut, std::int64_t count, const Heartbeat& heartbeat) {
  const TokenView split = cut.tokens();
  check_split(split);
  if (count < 1) throw Error(ExitCode::usage, "a sampled loss of ", count, " windows; use at least 1");
  // Without documents a window may start at any token, else only where the cut has a window of this length.
  const std::int64_t length = cut[0].length;
  const bool anywhere = split.document() == TokenView::no_document;
  const bool last_is_short = cut[cut.count() - 1].length < length;
  const std::int64_t places = anywhere ? split.size() - length : cut.count() - (last_is_short ? 1 : 0);
  count = std::min(count, places);
  const auto window_at = [&](std::int64_t i) {
    const std::int64_t place = i * (places / count) + i * (places % count) / count;  // i places / count, no overflow
    return WindowCut::Window{.begin = anywhere ? place : cut[place].begin, .length = length, .from = 0, .to = length};
  };
  double sum = 0;
  std::int64_t counted = 0;
  const auto add = [&](const WindowCut::Window& window, std::span<const float> losses) {
    sum = std::accumulate(losses.begin(), losses.end(), sum);  // 0 for targets that do not count
    counted += counted_targets(split, window.begin, length);
  };
  score_windows(scorer, split, count, window_at, add, heartbeat);
  return sum / static_cast<double>(counted);
}

}  // namespace chargpt
