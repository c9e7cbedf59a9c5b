#include "base/utf8.h"

#include <array>
#include <cstdio>

#include "base/error.h"

namespace chargpt {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

/// Bytes that a character starting with `lead` (0xC0 or more) claims to have; 0 for a byte that starts none.
int claimed_length(unsigned char lead) {
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
}

Utf8Fault fault_of_value(char32_t value, int length) {
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < smallest[length]) return Utf8Fault::overlong;
  if (value >= code_point_limit) return Utf8Fault::too_large;
  return is_scalar_value(value) ? Utf8Fault::none : Utf8Fault::surrogate;
}

}  // namespace

DecodedCharacter decode_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {lead, 1, Utf8Fault::none};
  if (is_continuation(lead)) return {0, 1, Utf8Fault::stray_continuation};
  const int length = claimed_length(lead);
  if (length == 0) return {0, 1, Utf8Fault::invalid_byte};

  char32_t value = lead & (0x7Fu >> length);
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) == bytes.size()) return {0, i, Utf8Fault::cut_off};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (!is_continuation(byte)) return {0, i, Utf8Fault::broken};
    value = value << 6 | (byte & 0x3Fu);
  }
  return {value, length, fault_of_value(value, length)};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const DecodedCharacter character = decode_character(text);
    if (character.fault != Utf8Fault::none) return false;
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return true;
}

bool begins_character(std::string_view bytes) {
  if (bytes.empty() || decode_character(bytes).fault != Utf8Fault::cut_off) return false;
  const auto completed_by = [bytes](char continuation) {
    return decode_character(std::string(bytes).append(3, continuation)).fault == Utf8Fault::none;
  };
  return completed_by('\x80') || completed_by('\xBF');  // the lowest and the highest that it could become
}

bool is_control(char32_t code_point) {
  if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0)) return true;
  if (code_point >= 0x2028 && code_point <= 0x202E) return true;
  return code_point == 0x061C || code_point == 0x200E || code_point == 0x200F ||
         (code_point >= 0x2066 && code_point <= 0x2069);
}

std::string_view describe_fault(Utf8Fault fault) {
  switch (fault) {
    case Utf8Fault::none:
      return "starts a character";
    case Utf8Fault::stray_continuation:
      return "continues a character that never began";
    case Utf8Fault::invalid_byte:
      return "is never used in UTF-8";
    case Utf8Fault::overlong:
      return "starts an overlong form";
    case Utf8Fault::surrogate:
      return "starts a surrogate (U+D800 to U+DFFF)";
    case Utf8Fault::too_large:
      return "starts a value above U+10FFFF";
    case Utf8Fault::broken:
      return "starts a character that is not finished";
    case Utf8Fault::cut_off:
      return "starts a character that the end cuts off";
  }
  return "is no character";
}

void append_utf8(char32_t code_point, std::string& text) {
  if (!is_scalar_value(code_point))
    throw Error(ExitCode::internal, "value " + std::to_string(static_cast<std::uint32_t>(code_point)) +
                                        " is no Unicode character, so it cannot be written as UTF-8");
  const auto put = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::string utf8_of(char32_t code_point) {
  std::string text;
  append_utf8(code_point, text);
  return text;
}

std::string code_point_name(char32_t code_point) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "U+%04X", static_cast<unsigned>(code_point));
  return text.data();
}

}  // namespace chargpt
