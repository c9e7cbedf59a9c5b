#include "page/page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/format.h"
#include "report/terminal.h"

namespace chargpt {
namespace {

/// The first lines of every page of this program.
constexpr std::string_view page_mark = "<!DOCTYPE html>\n<!-- chargpt page -->\n";

constexpr const char* plain_style = R"(:root { color-scheme: light dark; --line: #8884 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
pre { font: 15px/1.7 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
b { font-weight: normal; border-radius: 2px }
.s1 { background: rgba(236, 110, 60, .18) } .s2 { background: rgba(236, 110, 60, .36) }
.s3 { background: rgba(236, 110, 60, .6) } .s4 { background: rgba(236, 80, 40, .9) }
h1 { font-size: 1.4rem } h2 { font-size: 1.15rem; border-bottom: 1px solid var(--line); margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.4rem 0 0 } p { margin: .2rem 0 } .soft { opacity: .7; font-size: .9rem }
code { font: 15px ui-monospace, monospace } section { break-inside: avoid }
table { border-collapse: collapse; font: 13px/18px ui-monospace, monospace; width: max-content; max-width: 100% }
.scroll { overflow-x: auto } td { padding: 0 } td.label { padding-right: .6rem; white-space: pre; text-align: right }
canvas { image-rendering: pixelated; display: block; width: 100%; border: 1px solid var(--line) }
.columns { display: flex; padding: 0 1px } .columns span { flex: 1; text-align: center; white-space: pre; min-width: 0 }
.heads { display: flex; flex-wrap: wrap; gap: 1rem }
)";

// Blue below zero, orange above; the farthest number from zero is opaque.
constexpr const char* walk_script = R"(<script>
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

/// JSON for a script element: `<` can begin neither an end tag nor a comment.
std::string json_in_html(const nlohmann::ordered_json& json) {
  std::string safe;
  for (const char c : json_text(json, -1)) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return safe;
}

/// Makes a page with `title` as heading, then `body`. `policy`: what it may load besides inline styles.
std::string page_of(const std::string& title, std::string_view style, std::string_view policy,
                    const std::string& body) {
  const std::string heading = text_in_markup(title);
  return line_of(page_mark,
                 "<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'",
                 policy, "\">\n<title>", heading, "</title>\n<style>\n", style, "</style>\n<h1 id=\"title\">", heading,
                 "</h1>\n", body, "</html>\n");
}

constexpr std::string_view with_scripts = "; script-src 'unsafe-inline'";

// ---- the picture of a matrix

std::string number(double value) {
  return format_fixed(value, std::abs(value) < 10 ? 3 : 1);
}

/// One byte per value: 128 is zero, 1 and 255 are the largest magnitude.
std::string bytes_of(std::span<const float> values) {
  float largest = std::numeric_limits<float>::min();  // above 0: a matrix of zeros is divided by it
  for (const float value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  std::string bytes;
  for (const float value : values) {
    const float share = std::isnan(value) ? 1 : std::clamp(value / largest, -1.0F, 1.0F);
    bytes += static_cast<char>(128 + std::lround(127 * share));
  }
  return bytes;
}

std::string picture(const Matrix& matrix) {
  const std::int64_t rows = std::ssize(matrix.rows), columns = std::ssize(matrix.values) / rows;
  const double height = matrix.row_height * static_cast<double>(rows),
               width = std::min(matrix.row_height * static_cast<double>(columns), 840.0);  // square cells if few
  const auto [smallest, largest] = std::ranges::minmax(matrix.values);
  const std::string range = number(smallest) + " to " + number(largest);
  std::string html = "<div class=scroll><table>";
  if (!matrix.columns.empty()) {
    html += "<tr><td></td><td><div class=columns>";
    for (const std::string& label : matrix.columns) html += "<span>" + text_in_markup(label) + "</span>";
    html += "</div></td></tr>";
  }
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    html += "<tr><td class=label>" + text_in_markup(matrix.rows[row]) + "</td>";
    if (row == 0)
      html += line_of("<td rowspan=", rows, "><canvas role=img aria-label=\"", rows, " by ", columns, " numbers, ",
                      range, "\" width=", columns, " height=", rows, " style=\"width: ", width,
                      "px; max-width: 100%; height: ", height, "px\" data-values=\"", base64(bytes_of(matrix.values)),
                      "\"></canvas></td>");
    html += "</tr>";
  }
  return html + "</table></div>\n<p class=soft>" + range + "</p>\n";
}

/// The attention of each head, side by side.
std::string pictures_of(const std::vector<Matrix>& heads) {
  std::string html = "<div class=heads>";
  for (std::size_t i = 0; i < heads.size(); ++i)
    html += line_of("<div><p>head ", i + 1, "</p>", picture(heads[i]), "</div>");
  return heads.empty() ? "" : html + "</div>\n";
}

}  // namespace

std::string page_html(const nlohmann::ordered_json& data) {
  std::string body =
      "<main id=\"content\"></main>\n<noscript>This page computes and draws with JavaScript, which is switched off "
      "here.</noscript>\n<script type=\"application/json\" id=\"data\">" +
      json_in_html(data) + "</script>\n";
  for (const char* name : {"model", "drawing", "page"})
    body += line_of("<script>\n", embedded_file(line_of("src/page/browser/", name, ".js")), "</script>\n");
  return page_of(data.at("title"), embedded_file("src/page/browser/page.css"), with_scripts, body);
}

std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols) {
  return page_of(title, plain_style, "",
                 "<p>Surprise in nats: <b class=s1>from 0.7</b> <b class=s2>1.6</b> <b class=s3>3</b> <b "
                 "class=s4>5</b>.</p>\n<pre>\n" +  // browsers drop this line end
                     marked_by_surprise(symbols) +
                     "</pre>\n");
}

std::string walk_page(const std::string& title, const std::string& introduction, const std::vector<WalkStep>& steps) {
  std::string body = "<p>" + text_in_markup(introduction) +
                     " Blue is below zero, orange above; the strongest colour is the number farthest from zero.</p>\n";
  std::string part;
  for (const WalkStep& step : steps) {
    if (step.part != part) body += "<h2>" + text_in_markup(step.part) + "</h2>\n";
    part = step.part;
    body += "<section><h3>" + text_in_markup(step.name) + "</h3>\n<p><code>" + text_in_markup(step.formula) +
            "</code> <span class=soft>" + text_in_markup(step.sizes) + "</span></p>\n" + picture(step.matrix);
    if (!step.remark.empty()) body += "<p>" + text_in_markup(step.remark) + "</p>\n";
    body += pictures_of(step.heads) + "</section>\n";
  }
  return page_of(title, plain_style, with_scripts, body + walk_script);
}

void write_page(const fs::path& path, std::string_view html) {
  const fs::file_type type = type_at(path);
  const bool is_page = type == fs::file_type::regular && read_stretch(path, 0, page_mark.size()).bytes == page_mark;
  if (type != fs::file_type::not_found && !is_page)
    throw Error(ExitCode::busy, printable_path(path) + " exists and was not written by chargpt; choose another name");
  write_file_atomically(path, html);
}

}  // namespace chargpt
