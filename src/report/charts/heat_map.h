// Charts in lines of text: values as blocks, losses as colours. Independent of models.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// Shows one symbol in one or two columns: ␣ for a space, ↵ for a line end, → for a tab, a combining mark on ◌, · for
/// other invisible symbols.
std::string visible_symbol(const std::string& symbol);

/// One block per weight, as wide as its symbol in the line above. Height: the weight relative to the largest one (a
/// space if near 0). `weights` must not be empty.
std::string bars(std::span<const float> weights, std::span<const std::string> symbols);

/// Weights (heads, T) as one line of bars per head, below the last of the T symbols, with the largest weight.
std::string heads_text(std::span<const float> weights, const std::vector<std::string>& symbols);

/// A block character of height `share` (0 to 1 of a line); a space if near 0.
std::string_view block_of(double share);

/// One block for each value, ▁ for the lowest one and █ from `top` on; a space for a value that is not finite.
std::string sparkline(std::span<const double> values, double top);

/// A symbol of a text and the model's loss on it.
struct ScoredSymbol {
  std::string symbol;  ///< UTF-8
  double loss = 0;     ///< nats
};

/// Colours a text for a terminal: black on yellow to red from 0.7 nats (probability 1/2) upwards; below that no colour.
/// Control characters are escaped.
std::string colored_by_surprise(const std::vector<ScoredSymbol>& symbols);

/// The text as HTML with escaped symbols; classes s1 to s4 mark losses from 0.7, 1.6, 3 and 5 nats upwards.
std::string marked_by_surprise(const std::vector<ScoredSymbol>& symbols);

}  // namespace chargpt
