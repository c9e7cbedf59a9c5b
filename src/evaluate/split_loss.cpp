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

/// Number of windows of this length to score per call.
std::int64_t windows_at_once(const WindowScorer& scorer, std::int64_t length) {
  return std::max<std::int64_t>(1, scorer.tokens_at_once() / length);
}

/// Losses (B, T) of windows of equal length.
std::vector<float> losses_of(WindowScorer& scorer, TokenView split, std::span<const std::int64_t> begins,
                             std::int64_t length) {
  std::vector<float> losses(begins.size() * static_cast<std::size_t>(length));
  scorer.score({.tokens = split, .starts = begins, .T = length}, losses);
  return losses;
}

}  // namespace

SplitLoss split_loss_of(std::vector<float> losses) {
  const double mean = mean_loss(losses);
  return {.losses = std::move(losses), .mean = mean};
}

double mean_loss(std::span<const float> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

std::vector<double> tenths_of(std::span<const float> losses, const TokenView& text) {
  const std::size_t parts = std::min<std::size_t>(10, losses.size());
  const auto within_document = [&](std::size_t end) {
    return text.document() != TokenView::no_document && text[static_cast<std::int64_t>(end)] != text.document();
  };
  std::vector<double> means;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    std::size_t end = losses.size() * (i + 1) / parts;
    while (end < losses.size() && within_document(end)) ++end;
    if (end <= begin) continue;
    means.push_back(mean_loss(losses.subspan(begin, end - begin)));
    begin = end;
  }
  return means;
}

SplitLoss split_loss(WindowScorer& scorer, TokenView split, std::int64_t block_size, std::int64_t stride,
                     const Heartbeat& heartbeat) {
  check_split(split);
  check_stride(stride, block_size, "no overlap");
  const WindowCut windows(split, block_size, stride == 0 ? block_size : stride);
  const std::int64_t at_once = windows_at_once(scorer, block_size);
  std::vector<float> losses;
  losses.reserve(static_cast<std::size_t>(split.size() - 1));
  for (std::int64_t first = 0; first < windows.count();) {
    const std::int64_t length = windows[first].length;
    std::vector<std::int64_t> begins;
    std::vector<WindowCut::Window> cut;
    for (std::int64_t i = first; i < std::min(windows.count(), first + at_once); ++i) {
      const WindowCut::Window window = windows[i];
      if (window.length != length) break;
      cut.push_back(window);
      begins.push_back(window.begin);
    }
    const std::vector<float> rows = losses_of(scorer, split, begins, length);
    auto row = rows.begin();
    for (const WindowCut::Window& window : cut) {
      losses.insert(losses.end(), row + window.from, row + window.to);
      row += length;
    }
    first += std::ssize(cut);
    beat(heartbeat, first, windows.count());
  }
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
  const std::int64_t at_once = windows_at_once(scorer, length);
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t first = 0; first < count; first += at_once) {
    std::vector<std::int64_t> begins;
    for (std::int64_t i = first; i < std::min(count, first + at_once); ++i) {
      const std::int64_t place = i * (places / count) + i * (places % count) / count;  // i places / count, no overflow
      begins.push_back(anywhere ? place : cut[place].begin);
      counted += counted_targets(split, begins.back(), length);
    }
    const std::vector<float> losses = losses_of(scorer, split, begins, length);  // 0 for targets that do not count
    sum = std::accumulate(losses.begin(), losses.end(), sum);
    beat(heartbeat, std::min(count, first + at_once), count);
  }
  return sum / static_cast<double>(counted);
}

}  // namespace chargpt
