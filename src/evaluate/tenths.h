// The losses of a text by tenths of it, in order: how much a loss varies along the text. Pure; knows no model.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace chargpt {

/// Mean loss of each tenth of the text; tenths differ by one token at most. Fewer than ten losses: each stands alone.
inline std::vector<double> tenths_of(std::span<const float> losses) {
  const std::size_t parts = std::min<std::size_t>(10, losses.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = losses.size() * i / parts, end = losses.size() * (i + 1) / parts;
    const auto part = losses.subspan(begin, end - begin);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size()));
  }
  return means;
}

}  // namespace chargpt
