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
  Points train = {};  ///< sorted by x; drawn as a line
  Points val = {};    ///< sorted by x; drawn as marks
  std::vector<std::pair<std::string, double>> levels = {};
};

struct Canvas {
  std::size_t columns = 80, rows = 20;  ///< in characters, axes and labels included; at least 40 and 6
  bool color = false;
};

/// Replaces each y by the mean over a window of a fifteenth of all points. The window is narrower near the beginning,
/// where losses fall fast, and one-sided at the end, so that the last point is not a single batch.
Points smoothed(const Points& points);

/// Draws chart, title and axes in exactly canvas.rows lines, none wider than the canvas. The first twentieth of a long
/// curve may be cut off at the top, so that the rest is not flat. Leaves out levels above the curves or far below them.
/// Returns "" if there are no points.
std::string terminal_chart(const Chart& chart, const Canvas& canvas);

}  // namespace chargpt
