// Texts, and counts that have learned them.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <vector>

#include "predict/counts.h"
#include "source_path.h"
#include "token_text.h"

namespace chargpt {

using Stored = std::vector<std::uint8_t>;

/// A text of `symbols` symbols in which the last two say much of the next.
inline Stored text_of(std::size_t length, std::uint64_t symbols) {
  RandomStream random(3, Purpose::windows);
  Stored ids = {0, 1};
  while (ids.size() < length) {
    const std::uint64_t expected =
        (ids.back() * std::uint64_t{5} + ids[ids.size() - 2] * std::uint64_t{3} + 1) % symbols;
    ids.push_back(static_cast<std::uint8_t>(random.uniform() < 0.7 ? expected : random.below(symbols)));
  }
  return ids;
}

/// Of `symbols` letters: 'a', 'b', …
inline Vocabulary letters(std::int64_t symbols) {
  std::vector<char32_t> code_points;
  for (std::int64_t id = 0; id < symbols; ++id) code_points.push_back(U'a' + static_cast<char32_t>(id));
  return Vocabulary::of_characters(std::move(code_points));
}

inline std::string shortened_sample() {
  std::ifstream file(source_path("/data/sample.txt"));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of the text's characters.
inline Vocabulary vocabulary_of(std::string text) {
  std::ranges::sort(text);
  return Vocabulary::of_characters({text.begin(), std::unique(text.begin(), text.end())});
}

inline Stored stored(const Vocabulary& vocabulary, const std::string& text) {
  const Ids ids = vocabulary.encode(text, "text");
  return {ids.begin(), ids.end()};
}

/// That have learned `train`.
inline Counts counts_of(const Vocabulary& vocabulary, const Stored& train) {
  Counts counts(vocabulary, frequencies_of(view_of(train), vocabulary.size()), std::ssize(train));
  Counts::History history;
  counts.learn(view_of(train), history);
  return counts;
}

/// Of every symbol, before any is looked at.
inline std::vector<double> distribution(const Counts& counts, const Counts::History& history) {
  std::vector<double> of_symbols(static_cast<std::size_t>(counts.tree().nodes() + 1));
  const Counts::Place place = counts.place_of(history);
  Counts::Decision decision;
  counts.tree().join(of_symbols, Counts::all_known, [&](std::int32_t node, double, Counts::Known& known) {
    counts.decide(place, node, known, decision);
    known = decision.known;
    return decision.p;
  });
  return of_symbols;
}

/// The loss of what comes next; body(place, decision, bit) after each of its decisions.
template <class Body>
double loss_of(const Counts& counts, const Counts::History& history, std::int64_t id, const Body& body) {
  const Counts::Place place = counts.place_of(history);
  Counts::Decision decision;
  decision.known = Counts::all_known;
  double loss = 0;
  for (const SymbolTree::Step step : counts.tree().path(id)) {
    counts.decide(place, step.node, decision.known, decision);
    loss -= std::log(step.bit ? decision.p : 1 - decision.p);
    body(place, decision, step.bit);
  }
  return loss;
}

/// The counts do not learn it.
inline double frozen_loss(const Counts& counts, const Counts::History& history, std::int64_t id) {
  return loss_of(counts, history, id, [](const auto&, const auto&, bool) {});
}

/// It is learned and counted.
inline double learned_loss(Counts& counts, Counts::History& history, std::int64_t id) {
  const double loss = loss_of(counts, history, id, [&counts](const auto& place, const auto& decision, bool bit) {
    counts.learn(place, decision, bit);
  });
  counts.count(history, counts.place_of(history), id);
  return loss;
}

}  // namespace chargpt
