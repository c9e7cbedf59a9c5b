#include "page/walk_page.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "page/page.h"
#include "report/escape.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr const char* style = R"(:root { color-scheme: light dark; --line: #8884 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; border-bottom: 1px solid var(--line); margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.4rem 0 0 } p { margin: .2rem 0 } .soft { opacity: .7; font-size: .9rem }
code { font: 15px ui-monospace, monospace } section { break-inside: avoid }
table { border-collapse: collapse; font: 13px/18px ui-monospace, monospace; width: max-content; max-width: 100% }
.scroll { overflow-x: auto } td { padding: 0 } td.label { padding-right: .6rem; white-space: pre; text-align: right }
canvas { image-rendering: pixelated; display: block; width: 100%; border: 1px solid var(--line) }
.columns { display: flex; padding: 0 1px } .columns span { flex: 1; text-align: center; white-space: pre; min-width: 0 }
svg { max-width: 100%; height: auto; max-height: 24rem }
)";

// Blue below zero, orange above; the farthest number from zero is opaque.
constexpr const char* script = R"(<script>
for (const canvas of document.querySelectorAll("canvas")) {
  const picture = new ImageData(canvas.width, canvas.height);
  atob(canvas.dataset.values).split("").forEach((char, i) => {
    const value = char.charCodeAt(0) - 128;
    picture.data.set([...(value < 0 ? [37, 99, 235] : [234, 88, 12]), 2 * Math.abs(value)], 4 * i);
  });
  canvas.getContext("2d").putImageData(picture, 0, 0);
}
</script>
)";

constexpr int row_height = 18;  // of a label, in CSS pixels

/// Square cells where there are few; else as wide as the page.
std::int64_t picture_width(std::int64_t columns) {
  return std::min<std::int64_t>(columns * row_height, 840);
}

std::string number(double value) {
  return format_fixed(value, std::abs(value) < 10 ? 3 : 1);
}

/// A byte for each, 128 for zero, 1 and 255 for the farthest from it.
std::string bytes_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  std::string bytes;
  for (const float value : values) {
    const float share = std::isnan(value) ? 1 : largest > 0 ? std::clamp(value / largest, -1.0F, 1.0F) : 0;
    bytes += static_cast<char>(128 + std::lround(127 * share));
  }
  return bytes;
}

std::string picture(const WalkStep& step) {
  const std::int64_t columns = std::ssize(step.values) / std::ssize(step.rows);
  const auto [smallest, largest] = std::ranges::minmax(step.values);
  const std::string range = number(smallest) + " to " + number(largest);
  std::string html = "<div class=scroll><table>";
  if (!step.columns.empty()) {
    html += "<tr><td></td><td><div class=columns>";
    for (const std::string& label : step.columns) html += "<span>" + text_in_markup(label) + "</span>";
    html += "</div></td></tr>";
  }
  for (std::size_t row = 0; row < step.rows.size(); ++row) {
    html += "<tr><td class=label>" + text_in_markup(step.rows[row]) + "</td>";
    if (row == 0)
      html += "<td rowspan=" + std::to_string(step.rows.size()) + "><canvas role=img aria-label=\"" +
              std::to_string(step.rows.size()) + " by " + std::to_string(columns) + " numbers, " + range +
              "\" width=" + std::to_string(columns) + " height=" + std::to_string(step.rows.size()) +
              " style=\"width: " + std::to_string(picture_width(columns)) +
              "px; max-width: 100%; height: " + std::to_string(row_height * std::ssize(step.rows)) +
              "px\" data-values=\"" + base64(bytes_of(step.values)) + "\"></canvas></td>";
    html += "</tr>";
  }
  return html + "</table></div>\n<p class=soft>" + range + "</p>\n";
}

}  // namespace

std::string walk_page(const std::string& title, const std::string& introduction, const std::vector<WalkStep>& steps) {
  std::string html =
      page_beginning(title, style, "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'") +
      "<p>" + text_in_markup(introduction) +
      " Blue is below zero, orange above; the strongest colour is the number farthest from zero.</p>\n";
  std::string part;
  for (const WalkStep& step : steps) {
    if (step.part != part) html += "<h2>" + text_in_markup(step.part) + "</h2>\n";
    part = step.part;
    html += "<section><h3>" + text_in_markup(step.name) + "</h3>\n<p><code>" + text_in_markup(step.formula) +
            "</code> <span class=soft>" + text_in_markup(step.sizes) + "</span></p>\n" + picture(step);
    if (!step.remark.empty()) html += "<p>" + text_in_markup(step.remark) + "</p>\n";
    html += step.attention + "</section>\n";
  }
  return html + script + "</html>\n";
}

}  // namespace chargpt
