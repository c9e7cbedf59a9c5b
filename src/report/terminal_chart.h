// Curves drawn with characters: dots of braille, or plain ASCII. Knows no terminal; does not know what the numbers
// mean.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/chart.h"

namespace chargpt {

struct DrawnCurve {
  enum class As {
    line,   ///< points of one column as their mean, those of neighbouring columns joined
    marks,  ///< each point by itself
    level,  ///< dots across at the y of the first point, with the name beside them
  };
  Curve curve;
  As as = As::line;
  const char* color = "";  ///< of ANSI escapes: "36"; only where the canvas is coloured
};

struct Canvas {
  std::size_t columns = 80, rows = 20;  ///< of characters, axes and their labels among them; at least 30 and 6
  bool utf8 = true, color = false;
};

/// The curves over their axes, and a line that tells them apart; each line ends with a newline and none is wider than
/// the canvas. Marks are drawn over lines, both over levels. What is high at the very beginning is cut off where the
/// rest would have no height; a level that lies far below the curves is left out, as is one above them. Without a point
/// there is nothing to draw: empty.
std::string terminal_chart(const std::vector<DrawnCurve>& curves, const Canvas& canvas);

}  // namespace chargpt
