#include "report/terminal.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include "base/characters.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

/// Removes the first symbol from `text` and returns its columns.
std::size_t take_symbol(std::string_view& text) {
  const DecodedCharacter symbol = decode_character(text);
  text.remove_prefix(symbol.length);
  return symbol.valid() ? columns_of(symbol.code_point) : 1;
}

bool is_open(const std::string& text, char quote) {
  return std::ranges::count(text, quote) % 2 != 0;
}

/// Splits a text into words. Text in `...` is one word, and so is a command in a message: "chargpt", a subcommand and
/// its argument, then options, each with its value.
std::vector<std::string> unbroken_words(const std::string& text) {
  std::vector<std::string> words;
  int left = 0;  // words still to add to the command or its option
  const auto goes_on = [&left](const std::string& before, const std::string& next) {
    if (before == "chargpt") left = 2;
    if (is_open(before, '`')) return true;
    if (!before.starts_with("chargpt")) return false;
    if (is_open(before, '\'')) return true;
    if (std::string_view(";,:)").find(before.back()) != std::string_view::npos) return false;
    if (next.starts_with("-")) left = next.find('=') == std::string::npos ? 2 : 1;
    return left-- > 0;
  };
  std::istringstream stream(text);
  for (std::string word; stream >> word;)
    if (!words.empty() && goes_on(words.back(), word))
      words.back() += " " + word;
    else
      words.push_back(word);
  return words;
}

}  // namespace

bool choose_color(std::string_view flag, const char* no_color, bool is_terminal) {
  if (flag == "always") return true;
  if (flag == "never") return false;
  return is_terminal && (no_color == nullptr || *no_color == '\0');
}

bool is_dumb(const char* term) {
  return term != nullptr && std::string_view(term) == "dumb";
}

std::string colored(const std::string& text, std::string_view code) {
  return code.empty() ? text : "\x1b[" + std::string(code) + "m" + text + "\x1b[0m";
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += take_symbol(text);
  return columns;
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t used = 0, bytes = 0;
  for (std::string_view rest = text; !rest.empty() && (used += take_symbol(rest)) <= columns;)
    bytes = text.size() - rest.size();
  return text.substr(0, bytes);
}

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const DecodedCharacter symbol = decode_character(text);
    const char32_t code_point = symbol.code_point;
    // Line ends and tabs are kept.
    if (text.starts_with("\r\n")) {
      text.remove_prefix(1);
      continue;
    }
    if (symbol.valid() && (!is_control(code_point) || code_point == '\n' || code_point == '\t')) {
      out += text.substr(0, symbol.length);
    } else {
      const char* const form = symbol.valid() && code_point >= 0x80 ? "\\u%04x" : "\\x%02x";
      out += formatted(form, static_cast<unsigned>(code_point));
    }
    text.remove_prefix(symbol.length);
  }
  return out;
}

std::string text_in_markup(std::string_view text) {
  std::string safe;
  for (const char c : escape_for_terminal(text))
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

std::string without_end_spaces(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> cut_after(std::string_view text, std::string_view ends) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of(ends), text.size() - 1) + 1;
    pieces.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  if (width == 0 || indent + display_width(text) <= width) return text;
  std::string lines;
  std::size_t used = indent;
  const auto add = [&](const std::string& piece, std::string_view space) {
    const std::size_t columns = display_width(piece);
    if (!lines.empty() && used + space.size() + columns > width) {
      lines += "\n" + std::string(used = indent, ' ');
    } else if (!lines.empty()) {
      lines += space;
      used += space.size();
    }
    lines += piece;
    used += columns;
  };
  for (const std::string& word : unbroken_words(text)) {
    const bool is_command = word.find(' ') != std::string::npos;
    const bool too_wide = !is_command && indent + display_width(word) > width;
    std::string_view space = " ";
    for (const std::string& piece : too_wide ? cut_after(word, "|,") : std::vector{word})
      add(piece, std::exchange(space, ""));
  }
  return lines;
}

std::string wrapped_lines(const std::string& text, std::size_t width) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out += line.substr(0, indent) + wrapped(line.substr(indent), indent, width) + "\n";
  }
  return out;
}

}  // namespace chargpt
