#include "report/charts/surprise.h"

#include <algorithm>
#include <array>

#include "report/escape.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr std::array levels{0.7, 1.6, 3.0, 5.0};
/// Of the 256-colour palette, readable under black.
constexpr std::array backgrounds{229, 222, 215, 203};

/// 0 to 4: how many of the levels are reached.
std::size_t level_of(double loss) {
  return static_cast<std::size_t>(std::ranges::count_if(levels, [&](double level) { return loss >= level; }));
}

}  // namespace

std::string colored_by_surprise(const std::vector<ScoredSymbol>& symbols) {
  std::string text;
  std::size_t now = 0;
  for (const ScoredSymbol& scored : symbols) {
    const std::size_t level = scored.symbol == "\n" ? 0 : level_of(scored.loss);
    if (level != now) text += level == 0 ? "\x1b[0m" : "\x1b[30;48;5;" + std::to_string(backgrounds[level - 1]) + "m";
    now = level;
    text += escape_for_terminal(scored.symbol);
  }
  return now == 0 ? text : text + "\x1b[0m";
}

std::string marked_by_surprise(const std::vector<ScoredSymbol>& symbols) {
  std::string html;
  for (const ScoredSymbol& scored : symbols) {
    const std::size_t level = level_of(scored.loss);
    if (level == 0)
      html += text_in_markup(scored.symbol);
    else
      html += "<b class=s" + std::to_string(level) + " title=\"" + format_fixed(scored.loss, 2) + "\">" +
              text_in_markup(scored.symbol) + "</b>";
  }
  return html;
}

}  // namespace chargpt
