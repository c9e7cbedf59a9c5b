// Values as blocks in one line of text, weights between 0 and 1 as squares in a picture, losses as colours of a text.
// Knows no model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// A symbol by itself, one or two columns wide: ␣ for a space, ↵ for a line end, → for a tab, a mark on ◌, · for what
/// cannot be seen.
std::string visible_symbol(const std::string& symbol);

/// One block for each weight, of a height by its share of the largest (a space for next to nothing), as wide as the
/// symbol above it.
std::string bars(std::span<const float> weights, std::span<const std::string> symbols);

/// Weights (heads, T), a line for each head under the last of the T symbols: bars, and the largest weight.
std::string heads_text(std::span<const float> weights, const std::vector<std::string>& symbols);

/// A square matrix, and what it is.
struct HeatMap {
  std::string title;
  std::span<const float> values;  ///< (T, T)
};

/// A whole SVG document: the maps, `columns` in a row, with the T symbols along both edges where there is room.
std::string heat_maps_svg(const std::vector<HeatMap>& maps, std::span<const std::string> symbols, std::int64_t columns);

/// A block as high as `share` (0 to 1) of a line; a space for next to nothing.
std::string_view block_of(double share);

/// One block for each value, ▁ for the lowest one and █ from `top` on; a space for a value that is not finite.
std::string sparkline(std::span<const double> values, double top);

/// A symbol of a text, and how much it surprised a model.
struct ScoredSymbol {
  std::string symbol;  ///< UTF-8
  double loss = 0;     ///< nats
};

/// For a terminal: black on yellow to red from 0.7 nats on (half as likely as not), below that as it is. What a
/// terminal would obey is shown escaped.
std::string colored_by_surprise(const std::vector<ScoredSymbol>& symbols);

/// Elements of HTML, each symbol escaped; classes s1 to s4 from 0.7, 1.6, 3 and 5 nats on.
std::string marked_by_surprise(const std::vector<ScoredSymbol>& symbols);

}  // namespace chargpt
