#include "report/escape.h"

#include <array>
#include <cstdio>

#include "base/utf8.h"

namespace chargpt {
namespace {

/// Line ends and tabs are a text's own.
bool is_obeyed(char32_t code_point) {
  return is_control(code_point) && code_point != '\n' && code_point != '\t';
}

std::string number(const char* form, char32_t code_point) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), form, static_cast<unsigned>(code_point));
  return text.data();
}

}  // namespace

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const DecodedCharacter symbol = decode_character(text);
    if (!symbol.valid() || (symbol.code_point < 0x80 && is_obeyed(symbol.code_point)))
      out += number("\\x%02x", symbol.code_point);
    else if (is_obeyed(symbol.code_point))
      out += number("\\u%04x", symbol.code_point);
    else
      out += text.substr(0, symbol.length);
    text.remove_prefix(symbol.length);
  }
  return out;
}

std::string text_in_markup(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

}  // namespace chargpt
