#include "report/charts/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/characters.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "report/format.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

constexpr std::array levels{0.7, 1.6, 3.0, 5.0};
/// Colours of the 256-colour palette on which black text is readable.
constexpr std::array backgrounds{229, 222, 215, 203};

/// 0 to 4: how many of the levels are reached.
std::size_t level_of(double loss) {
  return static_cast<std::size_t>(std::ranges::count_if(levels, [&](double level) { return loss >= level; }));
}

/// A symbol, escaped for page or terminal; empty for the CR of a CRLF.
std::string shown(const std::vector<ScoredSymbol>& symbols, std::size_t i) {
  const bool line_end = symbols[i].symbol == "\r" && i + 1 < symbols.size() && symbols[i + 1].symbol == "\n";
  return line_end ? "" : escape_for_terminal(symbols[i].symbol);
}

}  // namespace

std::string visible_symbol(const std::string& symbol) {
  if (symbol == " ") return "␣";
  if (symbol == "\n") return "↵";
  if (symbol == "\t") return "→";
  if (symbol.empty()) return "·";
  const DecodedCharacter first = decode_character(symbol);
  if (!first.valid() || is_control(first.code_point)) return "·";
  if (columns_of(first.code_point) > 0) return symbol;
  return is_combining_mark(first.code_point) ? "◌" + symbol : "·";
}

std::string bars(std::span<const float> weights, std::span<const std::string> symbols) {
  const float largest = *std::ranges::max_element(weights);
  std::string line;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t column = 0; column < display_width(symbols[i]); ++column)
      line += block_of(largest > 0 ? weights[i] / largest : 0);
  return line;
}

std::string heads_text(std::span<const float> weights, const std::vector<std::string>& symbols) {
  constexpr std::size_t most = 48;  // columns; with the other text a line of 80
  const std::size_t T = symbols.size();
  std::size_t first = T;
  for (std::size_t width = 0; first > 0 && (width += display_width(symbols[first - 1])) <= most;) --first;
  const std::vector<std::string> last(symbols.begin() + static_cast<std::ptrdiff_t>(first), symbols.end());
  std::string text = "            " + joined(last, "") + "\n";
  for (std::size_t head = 0; head < weights.size() / T; ++head) {
    const auto row = weights.subspan(head * T, T);
    const auto largest = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    std::string name = "    head " + std::to_string(head + 1);
    name.resize(std::max<std::size_t>(name.size(), 11), ' ');
    text += name + " " + bars(row.subspan(first), last) + "  " + format_fixed(100 * row[largest], 1) + " % to " +
            symbols[largest] + "\n";
  }
  return text;
}

std::string_view block_of(double share) {
  constexpr std::array<std::string_view, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return blocks[static_cast<std::size_t>(std::clamp(share * 8.0 + 0.5, 0.0, 8.0))];
}

std::string sparkline(std::span<const double> values, double top) {
  double low = std::numeric_limits<double>::infinity();
  for (const double value : values)
    if (std::isfinite(value)) low = std::min(low, value);
  std::string line;
  for (const double value : values) {
    const double share = top > low ? std::clamp((value - low) / (top - low), 0.0, 1.0) : value > low ? 1 : 0;
    line += std::isfinite(value) ? block_of(1.0 / 8 + share * 7 / 8) : " ";
  }
  return line;
}

std::string colored_by_surprise(const std::vector<ScoredSymbol>& symbols) {
  std::string text;
  std::size_t now = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::size_t level = symbols[i].symbol == "\n" ? 0 : level_of(symbols[i].loss);
    if (level != now) text += level == 0 ? "\x1b[0m" : "\x1b[30;48;5;" + std::to_string(backgrounds[level - 1]) + "m";
    now = level;
    text += shown(symbols, i);
  }
  return now == 0 ? text : text + "\x1b[0m";
}

std::string marked_by_surprise(const std::vector<ScoredSymbol>& symbols) {
  std::string html;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::size_t level = level_of(symbols[i].loss);
    const std::string text = text_in_markup(shown(symbols, i));
    if (level == 0)
      html += text;
    else
      html += line_of("<b class=s", level, " title=\"", format_fixed(symbols[i].loss, 2), "\">", text, "</b>");
  }
  return html;
}

}  // namespace chargpt
