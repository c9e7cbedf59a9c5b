#include "report/escape.h"

#include <array>
#include <cstdio>

#include "base/utf8.h"

namespace chargpt {

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const DecodedCharacter symbol = decode_character(text);
    const char32_t code_point = symbol.code_point;
    // Line ends and tabs are a text's own.
    if (symbol.valid() && (!is_control(code_point) || code_point == '\n' || code_point == '\t')) {
      out += text.substr(0, symbol.length);
    } else {
      const char* const form = symbol.valid() && code_point >= 0x80 ? "\\u%04x" : "\\x%02x";
      std::array<char, 16> escaped{};
      std::snprintf(escaped.data(), escaped.size(), form, static_cast<unsigned>(code_point));
      out += escaped.data();
    }
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
