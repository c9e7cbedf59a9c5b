// Curves drawn with dots of braille. Independent of the terminal and of what the numbers mean.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace chargpt {

using Points = std::vector<std::pair<double, double>>;

struct DrawnCurve {
  enum class As {
    dots,   ///< each point a dot, where the other curves leave it room
    line,   ///< points of one column as their mean, those of neighbouring columns joined
    marks,  ///< the same line, with a mark at each point
    level,  ///< dots across at the y of the first point, with the name beside them
  };
  std::string name = {};  ///< empty: not in the legend
  Points points = {};     ///< x rising; one that is not finite is passed over
  As as = As::line;
  const char* color = "";  ///< of ANSI escapes: "36"; only where the canvas is coloured
};

struct Canvas {
  std::size_t columns = 80, rows = 20;  ///< of characters, axes and their labels among them; at least 30 and 6
  bool color = false;
};

/// Each point's y as the mean of its neighbourhood, a fifteenth of all points wide, narrower towards the beginning,
/// where losses fall fast; at the end what there is of it, so that the last point is no batch alone.
Points smoothed(const Points& points);

/// The curves over their axes, and a line that tells them apart; each line ends with a newline and none is wider than
/// the canvas. Lines are drawn over dots, marks over lines, all over levels. What is high at the very beginning is cut
/// off where the rest would have no height; a level that lies far below the curves is left out, as is one above them.
/// Without a point there is nothing to draw: empty.
std::string terminal_chart(const std::vector<DrawnCurve>& curves, const Canvas& canvas);

}  // namespace chargpt
