#include "base/utf8.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

/// The length in bytes that `lead` (0xC0 or more) announces; 0 if no character starts with it.
std::size_t claimed_length(unsigned char lead) {
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
}

std::string_view fault_of_value(char32_t value, std::size_t length) {
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < smallest[length]) return "starts an overlong form";
  if (value >= code_point_limit) return "starts a value above U+10FFFF";
  return is_scalar_value(value) ? "" : "starts a surrogate (U+D800 to U+DFFF)";
}

}  // namespace

DecodedCharacter decode_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {lead};
  if (is_continuation(lead)) return {lead, 1, "continues a character that never began"};
  const std::size_t length = claimed_length(lead);
  if (length == 0) return {lead, 1, "is never used in UTF-8"};
  char32_t value = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {lead, 1, cut_off};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (!is_continuation(byte)) return {lead, 1, "starts a character that is not finished"};
    value = value << 6 | (byte & 0x3Fu);
  }
  const std::string_view fault = fault_of_value(value, length);
  return fault.empty() ? DecodedCharacter{value, length} : DecodedCharacter{lead, 1, fault};
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
  if (bytes.empty() || decode_character(bytes).fault != cut_off) return false;
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

std::string describe_fault(std::string_view bytes, const std::string& place) {
  const std::string byte = formatted("0x%02X", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
  return line_of("byte ", byte, " at ", place, " ", decode_character(bytes).fault);
}

void append_utf8(char32_t code_point, std::string& text) {
  if (!is_scalar_value(code_point))
    throw Error(ExitCode::internal, "value ", static_cast<std::uint32_t>(code_point),
                " is no Unicode character, so it cannot be written as UTF-8");
  constexpr char32_t leads[] = {0, 0xC0, 0xE0, 0xF0};  // by the number of continuation bytes
  const int continuations = code_point < 0x80 ? 0 : code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  text.push_back(static_cast<char>(leads[continuations] | code_point >> 6 * continuations));
  for (int i = continuations; i-- > 0;) text.push_back(static_cast<char>(0x80 | (code_point >> 6 * i & 0x3F)));
}

std::string utf8_of(char32_t code_point) {
  std::string text;
  append_utf8(code_point, text);
  return text;
}

std::string code_point_name(char32_t code_point) {
  return formatted("U+%04X", static_cast<unsigned>(code_point));
}

}  // namespace chargpt
