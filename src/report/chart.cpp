#include "report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "base/quote.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr double width = 760, height = 460;
constexpr double left = 64, right = 20, top = 44, bottom = 52;  // margins of the drawing area

/// Okabe and Ito's colours, distinct under every common colour blindness; the dashes tell them apart in grey.
struct Look {
  const char *colour, *dashes;
};
constexpr std::array<Look, 6> looks{{{"#0072b2", ""},
                                     {"#d55e00", "7 3"},
                                     {"#009e73", "2 3"},
                                     {"#cc79a7", "9 3 2 3"},
                                     {"#b8860b", "4 2"},
                                     {"#56b4e9", "1 2"}}};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// Never empty, so that a single value has room.
  void widen(double part) {
    const double room = high > low ? (high - low) * part : std::max(std::abs(low), 1.0) * 0.1;
    low -= room;
    high += room;
  }
};

std::string escape_xml(const std::string& text) {
  std::string out;
  for (const char c : printable(text, std::string::npos)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// As short as six exact digits allow: "0.5", "20", "1.898".
std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const Curve& curve : chart.curves)
      for (const auto& [x, y] : curve.points)
        if (drawable(x, y)) {
          x_.take(scaled(x));
          y_.take(y);
        }
    if (x_.high < x_.low) x_ = y_ = {.low = 0, .high = 1};
    if (chart.target) y_.take(*chart.target);
    x_.widen(0.02);
    y_.widen(0.05);
  }

  std::string document() const { return head() + axes() + target() + lines() + legend() + "</svg>\n"; }

 private:
  bool drawable(double x, double y) const { return std::isfinite(x) && std::isfinite(y) && (!chart_.log_x || x > 0); }
  double scaled(double x) const { return chart_.log_x ? std::log10(x) : x; }
  double across(double x) const { return left + (scaled(x) - x_.low) / (x_.high - x_.low) * (width - left - right); }
  double down(double y) const { return height - bottom - (y - y_.low) / (y_.high - y_.low) * (height - top - bottom); }

  static std::string point(double x, double y) { return format_fixed(x, 1) + " " + format_fixed(y, 1); }

  static std::string text(double x, double y, const std::string& anchor, const std::string& words,
                          const std::string& more = "") {
    return "<text x=\"" + format_fixed(x, 1) + "\" y=\"" + format_fixed(y, 1) + "\" text-anchor=\"" + anchor + "\"" +
           more + ">" + escape_xml(words) + "</text>\n";
  }

  static std::string line(double x1, double y1, double x2, double y2, const std::string& kind) {
    return "<path class=\"" + kind + "\" d=\"M" + point(x1, y1) + " L" + point(x2, y2) + "\"/>\n";
  }

  std::string head() const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 460\" role=\"img\" font-family=\"system-ui, "
           "sans-serif\" font-size=\"13\">\n<title>" +
           escape_xml(chart_.title) +
           "</title>\n<style>\n"
           ".paper { fill: #ffffff } text { fill: #222222 } path { fill: none }\n"
           ".grid { stroke: #dddddd } .axis { stroke: #888888 } .target { stroke: #888888; stroke-dasharray: 4 4 }\n"
           ".curve { stroke-width: 2; stroke-linejoin: round }\n"
           "@media (prefers-color-scheme: dark) { .paper { fill: #16181d } text { fill: #dddddd } .grid { stroke: "
           "#33363d } }\n</style>\n<rect class=\"paper\" width=\"760\" height=\"460\" rx=\"6\"/>\n" +
           text(left, 26, "start", chart_.title, " font-size=\"16\" font-weight=\"600\"");
  }

  std::vector<double> x_ticks() const {
    if (chart_.log_x) return log_ticks(std::pow(10, x_.low), std::pow(10, x_.high));
    return round_ticks(x_.low, x_.high, 8);
  }

  std::string axes() const {
    const double end_x = width - right, end_y = height - bottom;
    std::string out;
    for (const double y : round_ticks(y_.low, y_.high, 7))
      out += line(left, down(y), end_x, down(y), "grid") + text(left - 8, down(y) + 4, "end", short_number(y));
    for (const double x : x_ticks())
      out +=
          line(across(x), end_y, across(x), end_y + 5, "axis") + text(across(x), end_y + 20, "middle", short_number(x));
    out += line(left, end_y, end_x, end_y, "axis") + line(left, top, left, end_y, "axis");
    out += text((left + end_x) / 2, height - 10, "middle", chart_.x_label);
    const double middle = (top + end_y) / 2;
    return out +
           text(16, middle, "middle", chart_.y_label, " transform=\"rotate(-90 16 " + format_fixed(middle, 1) + ")\"");
  }

  std::string target() const {
    if (!chart_.target) return "";
    const double y = down(*chart_.target);
    return line(left, y, width - right, y, "target") + text(left + 6, y - 5, "start", short_number(*chart_.target));
  }

  /// Position of each name among the names, in order of first appearance.
  std::map<std::string, std::size_t> numbers() const {
    std::map<std::string, std::size_t> found;
    for (const Curve& curve : chart_.curves) found.try_emplace(curve.name, found.size());
    return found;
  }

  static std::string stroke(std::size_t number) {
    const Look& look = looks[number % looks.size()];
    return std::string(" stroke=\"") + look.colour + "\" stroke-dasharray=\"" + look.dashes + "\"";
  }

  /// A run of points that can be drawn; a single one is a dot.
  std::string stretch(const std::vector<std::pair<double, double>>& points, std::size_t number) const {
    if (points.size() == 1)
      return "<circle cx=\"" + format_fixed(across(points[0].first), 1) + "\" cy=\"" +
             format_fixed(down(points[0].second), 1) + "\" r=\"4\" fill=\"" + looks[number % looks.size()].colour +
             "\"/>\n";
    std::string path;
    for (const auto& [x, y] : points) path += (path.empty() ? "M" : " L") + point(across(x), down(y));
    return "<path class=\"curve\"" + stroke(number) + " d=\"" + path + "\"/>\n";
  }

  std::string lines() const {
    const auto number_of = numbers();
    std::string out;
    for (const Curve& curve : chart_.curves) {
      std::vector<std::pair<double, double>> drawn;
      for (std::size_t i = 0; i <= curve.points.size(); ++i) {
        const bool goes_on = i < curve.points.size() && drawable(curve.points[i].first, curve.points[i].second);
        if (goes_on) drawn.push_back(curve.points[i]);
        if (goes_on || drawn.empty()) continue;
        out += stretch(drawn, number_of.at(curve.name));
        drawn.clear();
      }
    }
    return out;
  }

  /// At the upper right, where falling curves leave room.
  std::string legend() const {
    std::string out;
    for (const auto& [name, number] : numbers()) {
      const double y = top + 14 + 18 * static_cast<double>(number);
      out += "<path class=\"curve\"" + stroke(number) + " d=\"M" + point(width - right - 40, y) + " L" +
             point(width - right - 8, y) + "\"/>\n" + text(width - right - 48, y + 4, "end", name);
    }
    return out;
  }

  const Chart& chart_;
  Range x_, y_;
};

}  // namespace

std::string svg(const Chart& chart) {
  return Drawing(chart).document();
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  const bool many = std::log10(high / low) > 4;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (const double factor : {1, 2, 5})
      if (factor * power >= low && factor * power <= high && (factor == 1 || !many)) ticks.push_back(factor * power);
  return ticks;
}

}  // namespace chargpt
