#include "report/escape.h"

#include <array>
#include <cstdio>

#include "report/symbols.h"

namespace chargpt {
namespace {

/// Symbols that a terminal obeys instead of showing; of those above ASCII: C1, separators, marks, overrides, isolates.
bool is_obeyed(char32_t code_point) {
  if (code_point < 0x20) return code_point != '\n' && code_point != '\t';
  if (code_point >= 0x7F && code_point < 0xA0) return true;
  if (code_point >= 0x2028 && code_point <= 0x202E) return true;
  return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
         (code_point >= 0x2066 && code_point <= 0x2069);
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
    const Symbol symbol = first_symbol(text);
    if (!symbol.valid || (symbol.code_point < 0x80 && is_obeyed(symbol.code_point)))
      out += number("\\x%02x", symbol.code_point);
    else if (is_obeyed(symbol.code_point))
      out += number("\\u%04x", symbol.code_point);
    else
      out += text.substr(0, symbol.bytes);
    text.remove_prefix(symbol.bytes);
  }
  return out;
}

}  // namespace chargpt
