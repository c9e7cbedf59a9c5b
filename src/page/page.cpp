#include "page/page.h"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/quote.h"
#include "report/escape.h"
#include "report/json_text.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr const char* text_style = R"(:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
pre { font: 15px/1.7 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
b { font-weight: normal; border-radius: 2px }
.s1 { background: rgba(236, 110, 60, .18) } .s2 { background: rgba(236, 110, 60, .36) }
.s3 { background: rgba(236, 110, 60, .6) } .s4 { background: rgba(236, 80, 40, .9) }
)";

/// JSON that stands in a script element: `<` can begin neither an end tag nor a comment.
std::string json_in_html(const nlohmann::ordered_json& json) {
  std::string safe;
  for (const char c : json_text(json, -1))
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

bool is_page(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(page_mark.size(), '\0');
  file.read(begin.data(), std::ssize(begin));
  return file.gcount() == std::ssize(begin) && begin == page_mark;
}

}  // namespace

std::string page_beginning(const std::string& title, std::string_view style, std::string_view policy) {
  const std::string heading = text_in_markup(title);
  std::string html(page_mark);
  html +=
      "<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"";
  html.append(policy).append("\">\n<title>").append(heading).append("</title>\n<style>\n").append(style);
  return html + "</style>\n<h1>" + heading + "</h1>\n";
}

std::string page_html(const nlohmann::ordered_json& data) {
  const std::array<std::pair<std::string_view, std::string>, 5> parts = {
      {{"@TITLE@", text_in_markup(data.at("title").get<std::string>())},
       {"@STYLE@", std::string(page_style())},
       {"@DATA@", json_in_html(data)},
       {"@MODEL@", std::string(page_model_script())},
       {"@SCRIPT@", std::string(page_script())}}};
  std::string html;
  std::string_view rest = page_template();
  for (const auto& [place, text] : parts) {  // in the order of the template, so that no text is searched for a place
    const std::size_t at = rest.find(place);
    if (at == std::string_view::npos) throw Error(ExitCode::internal, "the page has no place " + std::string(place));
    html.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + place.size());
  }
  return html.append(rest);
}

std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols) {
  return page_beginning(title, text_style, "default-src 'none'; style-src 'unsafe-inline'") +
         "<p>Surprise in nats: <b class=s1>from 0.7</b> <b class=s2>1.6</b> <b class=s3>3</b> <b "
         "class=s4>5</b>.</p>\n<pre>\n" +  // of which browsers drop that line end
         marked_by_surprise(symbols) +
         "</pre>\n</html>\n";
}

void write_page(const fs::path& path, std::string_view html) {
  if (fs::symlink_status(path).type() != fs::file_type::not_found && !(fs::is_regular_file(path) && is_page(path)))
    throw Error(ExitCode::busy, printable_path(path) + " exists and is no page of this program; choose another name");
  write_file_atomically(path, html);
}

}  // namespace chargpt
