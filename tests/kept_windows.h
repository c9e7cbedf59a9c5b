// Windows of ids that a test made up.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "network/window_scorer.h"

namespace chargpt {

/// A window of T for each of `rows` rows of T + 1 ids. What it views is kept until the program ends.
inline WindowBatch kept_windows(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  static std::deque<std::vector<std::uint32_t>> texts;
  static std::deque<std::vector<std::int64_t>> all_starts;
  const std::vector<std::uint32_t>& text = texts.emplace_back(ids.begin(), ids.end());
  std::vector<std::int64_t>& starts = all_starts.emplace_back();
  const std::int64_t length = std::ssize(ids) / rows;
  for (std::int64_t row = 0; row < rows; ++row) starts.push_back(row * length);
  return {.tokens = TokenView(text.data(), 4, std::ssize(text)), .starts = starts, .T = length - 1};
}

/// The targets that count in a step of these micro-batches.
inline std::int64_t counted(std::span<const WindowBatch> micro_batches) {
  std::int64_t tokens = 0;
  for (const WindowBatch& windows : micro_batches) tokens += windows.counted();
  return tokens;
}

}  // namespace chargpt
