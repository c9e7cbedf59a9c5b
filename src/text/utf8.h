// UTF-8, strictly (RFC 3629): overlong forms, surrogates and values above U+10FFFF are no characters. Knows no file and
// no vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace chargpt {

/// One more than the largest Unicode code point.
constexpr char32_t code_point_limit = 0x110000;

/// A code point that a text may hold: at most U+10FFFF and no surrogate.
constexpr bool is_scalar_value(char32_t code_point) {
  return code_point < code_point_limit && (code_point < 0xD800 || code_point > 0xDFFF);
}

/// What is wrong with the first bytes of a text. cut_off: the text ends inside a character, more bytes could mend it.
enum class Utf8Fault { none, stray_continuation, invalid_byte, overlong, surrogate, too_large, broken, cut_off };

struct DecodedCharacter {
  char32_t code_point = 0;
  int length = 0;  ///< bytes, 1..4; meaningless with a fault
  Utf8Fault fault = Utf8Fault::none;
};

/// The first character of `bytes`, which must not be empty.
DecodedCharacter decode_character(std::string_view bytes);

/// The rest of a sentence that starts "byte 0xE9 at offset 12 ", for each fault.
std::string_view describe_fault(Utf8Fault fault);

void append_utf8(char32_t code_point, std::string& text);
std::string utf8_of(char32_t code_point);

/// decode_character for the forms most texts are made of, in line: two bytes, and three outside the two ranges with
/// exceptions (after 0xE0 and 0xED). Anything else has length 0.
inline DecodedCharacter decode_common_character(std::string_view bytes) {
  const auto byte = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto continues = [byte](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (bytes.size() < 3 || !continues(1)) return {};
  if (lead >= 0xC2 && lead <= 0xDF) return {(lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  if (lead < 0xE1 || lead > 0xEF || lead == 0xED || !continues(2)) return {};
  return {(lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu), 3};
}

/// How many of the first bytes are ASCII, in steps of eight.
inline std::size_t ascii_length(std::string_view bytes) {
  std::size_t length = 0;
  for (std::uint64_t eight = 0; length + sizeof eight <= bytes.size(); length += sizeof eight) {
    std::memcpy(&eight, bytes.data() + length, sizeof eight);
    if ((eight & 0x8080808080808080U) != 0) break;
  }
  return length;
}

/// Calls visit(code_point) for each character until the end or the first fault; returns how many bytes were characters.
/// A visitor that has visit.single_bytes(text) gets runs of ASCII so, which most texts are made of.
template <class Visit>
std::size_t decode_utf8(std::string_view bytes, Visit&& visit) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    if constexpr (requires { visit.single_bytes(bytes); }) {
      if (const std::size_t length = ascii_length(bytes.substr(done)); length > 0) {
        visit.single_bytes(bytes.substr(done, length));
        done += length;
        continue;
      }
    }
    const auto byte = static_cast<unsigned char>(bytes[done]);
    if (byte < 0x80) {
      visit(static_cast<char32_t>(byte));
      ++done;
      continue;
    }
    DecodedCharacter character = decode_common_character(bytes.substr(done));
    if (character.length == 0) character = decode_character(bytes.substr(done));
    if (character.fault != Utf8Fault::none) break;
    visit(character.code_point);
    done += static_cast<std::size_t>(character.length);
  }
  return done;
}

}  // namespace chargpt
