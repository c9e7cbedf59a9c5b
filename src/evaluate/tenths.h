// The losses of a text by tenths of it, in order: how much a loss varies along the text. Pure; knows no model.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

/// Mean loss of each tenth of the text; tenths differ by one token at most. Fewer than ten losses: each stands alone.
/// Where `text` has documents (losses[i] is that of its token i + 1), tenths hold whole ones, the last in each longer
/// by what is left of it; a document that fills several leaves fewer.
inline std::vector<double> tenths_of(std::span<const float> losses, const TokenView& text = {}) {
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
    const auto part = losses.subspan(begin, end - begin);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size()));
    begin = end;
  }
  return means;
}

}  // namespace chargpt
