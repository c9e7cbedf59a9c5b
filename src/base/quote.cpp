#include "base/quote.h"

namespace chargpt {
namespace {

/// Bytes of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), 0 where there is none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  const bool overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool outside = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
  if (overlong || outside) return 0;
  if (first >= 0xE0 && first <= 0xEF) return tail(1) && tail(2) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4) return tail(1) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

/// Of two or three bytes: C1 controls, line separators, and marks, overrides and isolates of direction, which rewrite a
/// line on some terminals or disguise its order (U+0080 to 9F, 061C, 200E, 200F, 2028 to 202E, 2066 to 2069).
bool is_control(std::string_view symbol) {
  const auto byte = static_cast<unsigned char>(symbol[0]);
  const auto last = static_cast<unsigned char>(symbol.back());
  if (symbol.size() == 1) return byte < 0x20 || byte == 0x7F;
  if (symbol.size() == 2) return (byte == 0xC2 && last < 0xA0) || symbol == "\xD8\x9C";
  if (symbol.starts_with("\xE2\x80")) return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
  return symbol.size() == 3 && symbol.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9;
}

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    const std::string_view symbol = text.substr(i, length == 0 ? 1 : length);
    const std::string shown = length == 0 || is_control(symbol) ? escaped(symbol) : std::string(symbol);
    if (out.size() + shown.size() > max_bytes) return out + "...";
    out += shown;
    i += symbol.size();
  }
  return out;
}

}  // namespace chargpt
