#include "report/charts/terminal_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/quote.h"
#include "base/utf8.h"
#include "report/format.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

constexpr double beginning = 0.05;       ///< of the x axis; higher points there may be cut off
constexpr std::size_t enough = 20;       ///< points after it
constexpr double worth_cutting = 0.7;    ///< if that leaves less than this part of the height
constexpr double most_for_levels = 0.5;  ///< of the curves' height, to reach down to a level

constexpr const char* mark = "●";
constexpr std::size_t dots_across = 2, dots_down = 4;  ///< of a braille character

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return high < low; }
  double size() const { return high - low; }
  /// Never of no size, nor of one that rounding makes, so that a single value has room.
  void widen(double part) {
    const double largest = std::max(std::abs(low), std::abs(high));
    const double room = size() > 1e-9 * largest ? size() * part : std::max(largest, 1.0) * 0.1;
    low -= room;
    high += room;
  }
};

bool drawable(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

/// About `count` round values (1, 2 or 5 times a power of ten apart) that lie in [low, high]. Needs low < high.
std::vector<double> round_ticks(double low, double high, int count) {
  const double rough = (high - low) / count, power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

struct Ranges {
  Span x, y;
  bool cut = false;  ///< points above y are left out
};

Ranges ranges_of(const std::vector<DrawnCurve>& curves) {
  Ranges ranges;
  Span all, later;
  std::size_t count = 0;
  const auto each = [&](auto&& visit) {
    for (const DrawnCurve& drawn : curves)
      if (drawn.as == DrawnCurve::As::line || drawn.as == DrawnCurve::As::marks)
        for (const auto& point : drawn.points)
          if (drawable(point)) visit(point.first, point.second);
  };
  each([&](double x, double) { ranges.x.take(x); });
  each([&](double x, double y) {
    all.take(y);
    if (x <= ranges.x.low + beginning * ranges.x.size()) return;
    later.take(y);
    ++count;
  });
  ranges.cut = count >= enough && later.size() > 0 && later.high - all.low < worth_cutting * all.size();
  ranges.y = {.low = all.low, .high = ranges.cut ? later.high : all.high};
  if (all.empty()) return ranges;
  const double reach = ranges.y.low - most_for_levels * ranges.y.size();
  for (const DrawnCurve& drawn : curves)
    if (drawn.as == DrawnCurve::As::level && !drawn.points.empty())
      if (const double y = drawn.points[0].second; y >= reach && y < ranges.y.low) ranges.y.low = y;
  ranges.y.widen(0.02);
  ranges.x.widen(0);
  return ranges;
}

/// A character of the drawing: dots of braille, or a symbol that stands over them.
struct Cell {
  unsigned dots = 0;
  std::string symbol{};
  const char* color = "";
  bool empty() const { return dots == 0 && symbol.empty(); }
};

class Drawing {
 public:
  Drawing(const std::vector<DrawnCurve>& curves, const Canvas& canvas, const Ranges& ranges)
      : curves_(curves), canvas_(canvas), ranges_(ranges) {
    rows_ = std::max<std::size_t>(canvas.rows, 6) - 3;  // axis, its labels, the names of the curves
    make_y_labels();
    columns_ = std::max<std::size_t>(canvas.columns, 30) - label_width_ - 2;  // labels are most_label wide at most
    cells_.resize(rows_ * columns_);
  }

  std::string text() {
    const auto each = [this](DrawnCurve::As as, void (Drawing::*draw)(const DrawnCurve&)) {
      for (const DrawnCurve& drawn : curves_)
        if (drawn.as == as) (this->*draw)(drawn);
    };
    each(DrawnCurve::As::dots, &Drawing::draw_dots);
    each(DrawnCurve::As::line, &Drawing::draw_line);
    each(DrawnCurve::As::marks, &Drawing::draw_line);
    each(DrawnCurve::As::marks, &Drawing::draw_marks);
    each(DrawnCurve::As::level, &Drawing::draw_level);
    return body() + x_axis() + legend();
  }

 private:
  Cell& cell(std::size_t row, std::size_t column) { return cells_[row * columns_ + column]; }

  /// 0 at the left, `count` - 1 at the right.
  std::size_t place_of(double x, std::size_t count) const {
    const double share = (x - ranges_.x.low) / ranges_.x.size();
    return static_cast<std::size_t>(std::clamp(share * static_cast<double>(count - 1) + 0.5, 0.0, count - 1.0));
  }
  /// 0 at the top; below 0 where it is cut off.
  double height_of(double y, std::size_t count) const {
    return (ranges_.y.high - y) / ranges_.y.size() * static_cast<double>(count) - 0.5;
  }
  std::optional<std::size_t> row_of(double y) const {
    const double row = std::round(height_of(y, rows_));
    if (row < 0 || row >= static_cast<double>(rows_)) return std::nullopt;
    return static_cast<std::size_t>(row);
  }

  void make_y_labels() {
    labels_.resize(rows_);
    const int wanted = std::max(2, static_cast<int>(rows_ / 3));
    const std::vector<double> ticks = round_ticks(ranges_.y.low, ranges_.y.high, wanted);
    const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1;
    const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
    for (const double tick : ticks)
      if (const auto row = row_of(tick)) labels_[*row] = label_of(tick, digits);
    for (const std::string& label : labels_) label_width_ = std::max(label_width_, label.size());
  }

  /// Losses of a run that diverges may be of any size.
  static std::string label_of(double tick, int digits) {
    constexpr std::size_t most_label = 10;
    std::string label = format_fixed(tick, digits);
    if (label.size() <= most_label) return label;
    return formatted("%.2g", tick);  // -1.2e+300
  }

  /// A dot of the fine grid, whose origin is at the upper left.
  void dot(std::size_t across, std::ptrdiff_t down, const char* color) {
    if (down < 0 || down >= static_cast<std::ptrdiff_t>(rows_ * dots_down)) return;
    const auto row = static_cast<std::size_t>(down);
    Cell& at = cell(row / dots_down, across / dots_across);
    at.color = color;
    // The bits of a braille pattern, U+2800 and above: by column, from the top.
    constexpr std::array<std::array<unsigned, 4>, 2> bits{{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    at.dots |= bits[across % 2][row % 4];
  }

  /// Mean of the points in each column of dots; between columns that have some, straight; none outside of them.
  std::vector<std::optional<double>> column_means(const Points& points) const {
    const std::size_t count = columns_ * dots_across;
    std::vector<double> sums(count), numbers(count);
    for (const auto& point : points)
      if (drawable(point)) {
        sums[place_of(point.first, count)] += point.second;
        ++numbers[place_of(point.first, count)];
      }
    std::vector<std::optional<double>> means(count);
    std::optional<std::size_t> before;
    for (std::size_t i = 0; i < count; ++i) {
      if (numbers[i] == 0) continue;
      means[i] = sums[i] / numbers[i];
      for (std::size_t j = before.value_or(i) + 1; j < i; ++j)
        means[j] = *means[*before] +
                   (*means[i] - *means[*before]) * static_cast<double>(j - *before) / static_cast<double>(i - *before);
      before = i;
    }
    return means;
  }

  void draw_dots(const DrawnCurve& drawn) {
    for (const auto& point : drawn.points)
      if (const double down = height_of(point.second, rows_ * dots_down); drawable(point) && std::abs(down) < 1e6)
        dot(place_of(point.first, columns_ * dots_across), std::lround(down), drawn.color);
  }

  void draw_line(const DrawnCurve& drawn) {
    const auto means = column_means(drawn.points);
    const std::size_t dots = rows_ * dots_down;
    std::optional<std::ptrdiff_t> before;
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (!means[i]) continue;
      const auto here = static_cast<std::ptrdiff_t>(std::round(height_of(*means[i], dots)));
      const std::ptrdiff_t from = before && *before < here   ? *before + 1
                                  : before && *before > here ? *before - 1
                                                             : here;
      for (std::ptrdiff_t j = std::max<std::ptrdiff_t>(-1, std::min(from, here)); j <= std::max(from, here); ++j)
        dot(i, j, drawn.color);
      before = here;
    }
  }

  void draw_marks(const DrawnCurve& drawn) {
    for (const auto& point : drawn.points)
      if (drawable(point))
        if (const auto row = row_of(point.second))
          cell(*row, place_of(point.first, columns_)) = {.symbol = mark, .color = drawn.color};
  }

  void draw_level(const DrawnCurve& drawn) {
    if (drawn.points.empty() || !drawable(drawn.points[0])) return;
    const auto row = row_of(drawn.points[0].second);
    if (!row) return;
    write_name(*row, drawn);
    for (std::size_t i = 0; i < columns_; ++i)
      if (cell(*row, i).empty()) cell(*row, i) = {.symbol = "┈", .color = drawn.color};
  }

  /// In its row, where no curve passes: at the right, else at the left.
  void write_name(std::size_t row, const DrawnCurve& drawn) {
    const std::string name = " " + drawn.name + " ";
    const std::size_t width = display_width(name);
    if (width + 2 > columns_) return;
    for (const std::size_t from : {columns_ - width - 1, std::size_t{1}, (columns_ - width) / 2}) {
      bool free = true;
      for (std::size_t i = from; i < from + width; ++i) free = free && cell(row, i).empty();
      if (!free) continue;
      std::string_view rest = name;
      for (std::size_t i = from; !rest.empty() && i < from + width; ++i) {
        const std::size_t bytes = decode_character(rest).length;
        cell(row, i) = {.symbol = std::string(rest.substr(0, bytes)), .color = drawn.color};
        rest.remove_prefix(bytes);
      }
      return;
    }
  }

  std::string in_color(const std::string& text, const char* color) const {
    return colored(text, canvas_.color ? color : "");
  }

  std::string body() {
    std::string out;
    for (std::size_t row = 0; row < rows_; ++row) {
      const bool labelled = !labels_[row].empty();
      const char* const axis = labelled ? " ┤" : " │";
      std::string line = std::string(label_width_ - labels_[row].size(), ' ') + labels_[row] + axis, stretch;
      const char* color = "";
      std::size_t last = columns_;
      while (last > 0 && cell(row, last - 1).empty()) --last;
      for (std::size_t i = 0; i < last; ++i) {
        const Cell& at = cell(row, i);
        if (at.color != color) line += in_color(std::exchange(stretch, ""), color);
        color = at.color;
        stretch += !at.symbol.empty() ? at.symbol : at.dots != 0 ? utf8_of(0x2800 + at.dots) : " ";
      }
      out += line + (stretch.empty() ? "" : in_color(stretch, color)) + "\n";
    }
    return out;
  }

  std::string x_axis() const {
    std::string axis(label_width_ + 1, ' '), names(label_width_ + 2, ' ');
    std::vector<bool> ticked(columns_, false);
    for (const double tick : round_ticks(ranges_.x.low, ranges_.x.high, static_cast<int>(columns_ / 12))) {
      const std::size_t place = place_of(tick, columns_);
      const std::string name = tick == std::floor(tick) ? format_count(std::llround(tick)) : format_fixed(tick, 1);
      const std::size_t middle = label_width_ + 2 + place, from = middle - std::min(middle, name.size() / 2);
      if (from < names.size() + (names.find_first_not_of(' ') == std::string::npos ? 0 : 2)) continue;
      if (from + name.size() > label_width_ + 2 + columns_) continue;
      names += std::string(from - names.size(), ' ') + name;
      ticked[place] = true;
    }
    axis += "└";
    for (const bool tick : ticked) axis += tick ? "┬" : "─";
    return axis + "\n" + names + "\n";
  }

  std::string legend() const {
    std::string line(label_width_ + 2, ' ');
    for (const DrawnCurve& drawn : curves_) {
      if (drawn.as == DrawnCurve::As::level || drawn.name.empty() || drawn.points.empty()) continue;
      const std::string sign = drawn.as == DrawnCurve::As::marks ? mark : "⣀⡠⠤";
      line += in_color(sign + " " + drawn.name, drawn.color) + "   ";
    }
    if (ranges_.cut) line += "(higher at first)";
    return without_end_spaces(std::move(line)) + "\n";
  }

  const std::vector<DrawnCurve>& curves_;
  const Canvas& canvas_;
  Ranges ranges_;
  std::size_t rows_ = 0, columns_ = 0, label_width_ = 0;
  std::vector<std::string> labels_;  ///< of each row
  std::vector<Cell> cells_;
};

}  // namespace

Points smoothed(const Points& points) {
  Points means;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t reach = std::min(points.size() / 30, i), end = std::min(i + reach + 1, points.size());
    double sum = 0, count = 0;
    for (std::size_t j = i - reach; j < end; ++j)
      if (drawable(points[j])) sum += points[j].second, ++count;
    means.emplace_back(points[i].first, sum / count);
  }
  return means;
}

std::string terminal_chart(const std::vector<DrawnCurve>& curves, const Canvas& canvas) {
  const Ranges ranges = ranges_of(curves);
  return ranges.y.empty() ? "" : Drawing(curves, canvas, ranges).text();
}

}  // namespace chargpt
