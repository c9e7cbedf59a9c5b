#include "base/utf8.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
DecodedCharacter decode_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {lead};
  const std::size_t length = lead < 0xC0 || lead >= 0xF8 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {lead, 1, Fault::cut_off};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if ((byte & 0xC0) != 0x80) return {lead, 1, Fault::invalid};
    value = value << 6 | (byte & 0x3Fu);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 1 || value < smallest[length] || !is_scalar_value(value)) return {lead, 1, Fault::invalid};
  return {value, length};
}

std::optional<char32_t> single_character(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const DecodedCharacter first = decode_character(text);
  return first.valid() && first.length == text.size() ? std::optional(first.code_point) : std::nullopt;
}

bool is_utf8(std::string_view text) {
  return decode_utf8(text, [](char32_t) {}) == text.size();
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

bool begins_character(std::string_view bytes) {
  if (bytes.empty() || decode_character(bytes).fault != Fault::cut_off) return false;
  const auto completed_by = [bytes](char continuation) {
    return decode_character(std::string(bytes).append(3, continuation)).valid();
  };
  return completed_by('\x80') || completed_by('\xBF');  // the lowest and the highest continuation byte
}

bool is_control(char32_t code_point) {
  if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0)) return true;
  if (code_point >= 0x2028 && code_point <= 0x202E) return true;
  return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string describe_byte(std::string_view bytes) {
  return formatted("byte 0x%02X", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
}

std::string utf8_of(char32_t code_point) {
  if (!is_scalar_value(code_point))
    throw Error(ExitCode::internal, "value ", static_cast<std::uint32_t>(code_point),
                " is no Unicode character, so it cannot be written as UTF-8");
  constexpr char32_t leads[] = {0, 0xC0, 0xE0, 0xF0};  // by the number of continuation bytes
  const int continuations = code_point < 0x80 ? 0 : code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  std::string text(1, static_cast<char>(leads[continuations] | code_point >> 6 * continuations));
  for (int i = continuations; i-- > 0;) text.push_back(static_cast<char>(0x80 | (code_point >> 6 * i & 0x3F)));
  return text;
}

std::string code_point_name(char32_t code_point) {
  return formatted("U+%04X", static_cast<unsigned>(code_point));
}

}  // namespace chargpt
