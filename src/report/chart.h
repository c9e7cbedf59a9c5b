// Curves as one SVG picture, readable in light and dark, in colour and in grey. Does not know what the numbers mean.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chargpt {

struct Curve {
  std::string name;                               ///< curves of one name share a colour and one entry of the legend
  std::vector<std::pair<double, double>> points;  ///< x rising; a point that is not finite breaks the line
};

struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false;  ///< points at x <= 0 are left out
  std::vector<Curve> curves;
  std::optional<double> target = {};  ///< a dashed line across at this y, with its value
};

/// A whole SVG document of 760 x 460 units. Names are foreign text: escaped for XML, control characters shown.
/// If no point can be drawn, the axes stand alone.
std::string svg(const Chart& chart);

/// About `count` round values (1, 2 or 5 times a power of ten apart) that lie in [low, high]. Needs low < high.
std::vector<double> round_ticks(double low, double high, int count);

/// 1, 2 and 5 times the powers of ten that lie in [low, high], fewer of them if there are many. Needs 0 < low <
/// high.
std::vector<double> log_ticks(double low, double high);

}  // namespace chargpt
