#include "report/charts/terminal_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/quote.h"
#include "base/utf8.h"
#include "report/format.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

constexpr std::string_view plain = "0", cyan = "0;36", yellow = "0;33", faint = "0;2";
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Range {
  double low = infinity, high = -infinity;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double size() const { return high - low; }
  /// Also widens a range that is empty or only rounding.
  void widen(double part) {
    const double largest = std::max(std::abs(low), std::abs(high));
    const double room = size() > 1e-9 * largest ? size() * part : std::max(largest, 1.0) * 0.1;
    low -= room;
    high += room;
  }
};

/// About `count` round values (1, 2 or 5 times a power of ten apart) in `range`.
std::vector<double> round_ticks(const Range& range, std::size_t count) {
  const double rough = range.size() / static_cast<double>(count), power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(range.low / step); i * step <= range.high; ++i) ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

struct Cell {
  char32_t symbol = U' ';
  std::string_view color = plain;
};

class Drawing {
 public:
  Drawing(const Chart& chart, const Canvas& canvas)
      : rows_(std::max<std::size_t>(canvas.rows, 6) - 3), labels_(rows_ + 1) {  // title, axis, its numbers
    find_ranges(chart);
    for (const double tick : round_ticks(y_, std::max<std::size_t>(2, rows_ / 3)))
      labels_[down(tick) / 4] = formatted("%.6g", tick);
    for (const std::string& label : labels_) margin_ = std::max(margin_, label.size() + 2);
    columns_ = std::max<std::size_t>(canvas.columns, 40) - margin_;
    cells_.resize((rows_ + 1) * columns_);
    for (std::size_t i = 0; i < columns_; ++i) cell(rows_, i).symbol = U'─';
    draw_line(chart.train);
    for (const auto& [x, y] : chart.val)
      if (y <= y_.high) cell(down(y) / 4, across(x) / 2) = {U'●', yellow};
    for (const auto& [name, y] : chart.levels)
      if (y >= y_.low && y <= y_.high) draw_level(name, down(y) / 4);
  }

  std::string text(bool color) {
    const auto in = [color](std::string_view code, const char* label) { return colored(label, color ? code : ""); };
    const std::string numbers = x_numbers();
    std::string out = "nats per token by step  " + in(cyan, "⣀⡠⠤ train") + "  " + in(yellow, "● val") + "\n";
    for (std::size_t row = 0; row <= rows_; ++row) out += line_of_cells(row, color) + "\n";
    return out + numbers + "\n";
  }

 private:
  Cell& cell(std::size_t row, std::size_t column) { return cells_[row * columns_ + column]; }

  void find_ranges(const Chart& chart) {
    constexpr std::size_t part = 20;  // the first 1/20 of a curve need not fit
    const double from = chart.train.size() < part ? -infinity : chart.train[chart.train.size() / part].first;
    for (const Points* points : {&chart.train, &chart.val})
      for (const auto& [x, y] : *points) {
        x_.take(x);
        if (x >= from) y_.take(y);
      }
    const double reach = y_.low - y_.size() / 2;
    for (const auto& [name, y] : chart.levels)
      if (y >= reach) y_.low = std::min(y_.low, y);
    y_.widen(0.02);
    x_.widen(0);
  }

  /// Dot column from the left (two dots per character) and dot row from the top (four dots per character).
  std::size_t across(double x) const { return dots((x - x_.low) / x_.size(), 2 * columns_); }
  std::size_t down(double y) const { return dots((y_.high - y) / y_.size(), 4 * rows_); }
  static std::size_t dots(double share, std::size_t count) {
    return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(count - 1) + 0.5);
  }

  void dot(std::size_t across, std::size_t down) {
    // The bits of a braille pattern, by column, from the top.
    constexpr char32_t first = 0x2800, bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    Cell& at = cell(down / 4, across / 2);
    at = {std::max(at.symbol, first) | bits[across % 2][down % 4], cyan};
  }

  void draw_line(const Points& points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto& [x, y] = points[i];
      const auto& [x_before, y_before] = points[i > 0 ? i - 1 : 0];
      if (std::min(y, y_before) > y_.high) continue;
      const double from_x = across(x_before), from_y = down(y_before), to_x = across(x), to_y = down(y);
      const double steps = std::max({std::abs(to_x - from_x), std::abs(to_y - from_y), 1.0});
      for (double k = 0; k <= steps; ++k)
        dot(std::lround(std::lerp(from_x, to_x, k / steps)), std::lround(std::lerp(from_y, to_y, k / steps)));
    }
  }

  /// Draws a level behind the curve; its name is at the right, or at the left if the curve is there.
  void draw_level(const std::string& name, std::size_t row) {
    std::u32string symbols = U" ";
    decode_utf8(name, [&symbols](char32_t symbol) { symbols += symbol; });
    symbols += U' ';
    symbols.resize(std::min(symbols.size(), columns_ - 2));
    std::size_t from = columns_ - 1 - symbols.size();
    for (std::size_t i = from; i < columns_; ++i)
      if (cell(row, i).symbol != U' ') from = 1;
    for (std::size_t i = 0; i < columns_; ++i)
      if (Cell& at = cell(row, i); at.symbol == U' ')
        at = {i >= from && i < from + symbols.size() ? symbols[i - from] : U'┈', faint};
  }

  std::string line_of_cells(std::size_t row, bool color) {
    std::string line = std::string(margin_ - 2 - labels_[row].size(), ' ') + labels_[row];
    line += row == rows_ ? " └" : labels_[row].empty() ? " │" : " ┤";
    std::string_view now = plain;
    for (std::size_t i = 0; i < columns_; ++i) {
      const Cell& at = cell(row, i);
      if (color && at.color != now) line.append("\x1b[").append(now = at.color).append("m");
      line += utf8_of(at.symbol);
    }
    return without_end_spaces(std::move(line)) + (now == plain ? "" : "\x1b[0m");
  }

  /// Returns the line of numbers below the axis, and draws the ticks of the axis.
  std::string x_numbers() {
    std::string line(margin_ + columns_, ' ');
    for (const double tick : round_ticks(x_, columns_ / 12)) {
      const std::string number = format_count(std::llround(tick));
      const std::size_t at = across(tick) / 2, middle = margin_ + at;
      const std::size_t from =
          std::clamp<std::size_t>(middle - std::min(middle, number.size() / 2), 1, line.size() - number.size());
      if (tick != std::floor(tick) || line[from - 1] != ' ') continue;
      cell(rows_, at).symbol = U'┬';
      line.replace(from, number.size(), number);
    }
    return without_end_spaces(std::move(line));
  }

  Range x_, y_;
  std::size_t rows_, columns_ = 0, margin_ = 2;
  std::vector<std::string> labels_;  ///< of each row; the last row is the axis
  std::vector<Cell> cells_;
};

}  // namespace

Points smoothed(const Points& points) {
  std::vector<double> sums(1);  // of the points before each
  for (const auto& [x, y] : points) sums.push_back(sums.back() + y);
  Points means;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t reach = std::min(points.size() / 30, i), end = std::min(i + reach + 1, points.size());
    means.emplace_back(points[i].first, (sums[end] - sums[i - reach]) / static_cast<double>(end - (i - reach)));
  }
  return means;
}

std::string terminal_chart(const Chart& chart, const Canvas& canvas) {
  return chart.train.empty() && chart.val.empty() ? "" : Drawing(chart, canvas).text(canvas.color);
}

}  // namespace chargpt
