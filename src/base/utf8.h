// Strict UTF-8 (RFC 3629): overlong forms, surrogates and values above U+10FFFF are invalid. Independent of files and
// vocabularies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace chargpt {

/// One more than the largest Unicode code point.
constexpr char32_t code_point_limit = 0x110000;

/// A code point that a text may contain: at most U+10FFFF and not a surrogate.
constexpr bool is_scalar_value(char32_t code_point) {
  return code_point < code_point_limit && (code_point < 0xD800 || code_point > 0xDFFF);
}

/// "U+0020" for a space.
std::string code_point_name(char32_t code_point);

/// cut_off: the text ends inside a character, which more bytes could complete.
enum class Fault : std::uint8_t { none, cut_off, invalid };

struct DecodedCharacter {
  char32_t code_point = 0;  ///< with a fault, the first byte
  std::size_t length = 1;   ///< 1 to 4 bytes; 1 with a fault
  Fault fault = Fault::none;
  bool valid() const { return fault == Fault::none; }
};

/// Decodes the first character of `bytes`, which must not be empty.
DecodedCharacter decode_character(std::string_view bytes);

/// The character that `text` consists of; nullopt unless it is exactly one.
std::optional<char32_t> single_character(std::string_view text);

/// Whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text);

/// Whether `bytes` are an incomplete character that more bytes can complete, such as "\xE2\x82" of "€". False for
/// "\xED\xA0", which no byte completes.
bool begins_character(std::string_view bytes);

/// The number of characters in a valid UTF-8 text.
std::size_t count_characters(std::string_view text);

/// Whether a terminal would obey the code point instead of showing it: C0 controls (line ends and tabs included), C1
/// controls, line separators, and direction marks, overrides and isolates, which can disguise the order of a line.
bool is_control(char32_t code_point);

/// "byte 0xE9" for the first of `bytes`.
std::string describe_byte(std::string_view bytes);

/// Error internal unless it is a scalar value.
std::string utf8_of(char32_t code_point);

/// Calls visit(code_point) for each character until the end or the first fault; returns the number of bytes decoded.
/// ASCII is decoded eight bytes at a time, and characters of two and three bytes inline here; decode_character()
/// handles all others.
template <class Visit>
std::size_t decode_utf8(std::string_view bytes, Visit&& visit) {
  std::size_t at = 0;
  const auto byte = [&](std::size_t i) { return char32_t{static_cast<unsigned char>(bytes[at + i])}; };
  while (at < bytes.size()) {
    const std::size_t left = bytes.size() - at;
    std::uint64_t eight = ~std::uint64_t{0};
    if (left >= sizeof eight) std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080U) == 0) {
      [&]<std::size_t... i>(std::index_sequence<i...>) {
        (visit(byte(i)), ...);
      }
      (std::make_index_sequence<8>());
      at += sizeof eight;
      continue;
    }
    const char32_t lead = byte(0), second = left > 2 ? byte(1) ^ 0x80 : 0x40, third = left > 2 ? byte(2) ^ 0x80 : 0x40;
    if (lead < 0x80) {
      visit(lead);
      ++at;
    } else if (lead >= 0xC2 && lead < 0xE0 && second < 0x40) {
      visit((lead & 0x1F) << 6 | second);
      at += 2;
    } else if (lead > 0xE0 && lead < 0xF0 && lead != 0xED && (second | third) < 0x40) {
      visit((lead & 0x0F) << 12 | second << 6 | third);
      at += 3;
    } else {
      const DecodedCharacter character = decode_character(bytes.substr(at));
      if (!character.valid()) break;
      visit(character.code_point);
      at += character.length;
    }
  }
  return at;
}

}  // namespace chargpt
