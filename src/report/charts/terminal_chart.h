// The chart of a run in characters: a curve of braille dots, marks and levels. Independent of files and of the
// terminal.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace chargpt {

using Points = std::vector<std::pair<double, double>>;

struct Chart {
  Points train = {};  ///< x rising; joined
  Points val = {};    ///< x rising; a mark each
  std::vector<std::pair<std::string, double>> levels = {};
};

struct Canvas {
  std::size_t columns = 80, rows = 20;  ///< of characters, axes and their labels among them; at least 40 and 6
  bool color = false;
};

/// Each point's y as the mean of its neighbourhood, a fifteenth of all points wide. It is narrower towards the
/// beginning, where losses fall fast, and one-sided at the end, so that the last point is not one batch alone.
Points smoothed(const Points& points);

/// The chart, its title and its axes in exactly canvas.rows lines, none wider than the canvas. A long curve may leave
/// it at the top in its first twentieth, so that the rest has height. A level far below the curves, or above them, is
/// left out. Without a point: empty.
std::string terminal_chart(const Chart& chart, const Canvas& canvas);

}  // namespace chargpt
