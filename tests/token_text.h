// Texts as ids, for tests of what reads them.
#pragma once

#include <cmath>
#include <span>

#include "base/random.h"
#include "base/token_view.h"
#include "test.h"

namespace chargpt {

/// A view of ids that another variable holds; `document` is the id between documents.
template <class Container>
TokenView view_of(const Container& ids, std::int64_t document = TokenView::no_document) {
  return {ids.data(), sizeof ids[0], std::ssize(ids), document};
}

inline Ids ids_of(TokenView tokens) {
  return tokens.ids();
}

/// Of the first `symbols` letters.
inline std::string random_letters(RandomStream& random, std::size_t length, std::uint64_t symbols) {
  std::string text(length, 'a');
  for (char& letter : text) letter = static_cast<char>('a' + random.below(symbols));
  return text;
}

inline std::vector<double> softmax(std::span<const float> logits) {
  std::vector<double> p(logits.begin(), logits.end());
  double total = 0;
  for (double& one : p) total += one = std::exp(one);
  for (double& one : p) one /= total;
  return p;
}

}  // namespace chargpt
