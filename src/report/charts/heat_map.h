// Weights between 0 and 1 as blocks on a terminal and as squares in a picture. Does not know what they weigh.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace chargpt {

/// A symbol by itself, one or two columns wide: ␣ for a space, ↵ for a line end, → for a tab, · for what cannot be
/// seen.
std::string visible_symbol(const std::string& symbol);

/// One block for each weight, of a height by its share of the largest (a space for next to nothing), as wide as the
/// symbol above it.
std::string bars(std::span<const float> weights, std::span<const std::string> symbols);

/// A square matrix, and what it is.
struct HeatMap {
  std::string title;
  std::span<const float> values;  ///< (T, T)
};

/// A whole SVG document: the maps, `columns` in a row, with the T symbols along both edges where there is room.
std::string heat_maps_svg(const std::vector<HeatMap>& maps, std::span<const std::string> symbols, std::int64_t columns);

}  // namespace chargpt
