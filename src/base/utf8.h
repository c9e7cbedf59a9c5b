// UTF-8, strictly (RFC 3629): overlong forms, surrogates and values above U+10FFFF are no characters. Knows no file and
// no vocabulary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace chargpt {

/// One more than the largest Unicode code point.
constexpr char32_t code_point_limit = 0x110000;

/// A code point that a text may hold: at most U+10FFFF and no surrogate.
constexpr bool is_scalar_value(char32_t code_point) {
  return code_point < code_point_limit && (code_point < 0xD800 || code_point > 0xDFFF);
}

/// "U+0020"
std::string code_point_name(char32_t code_point);

/// Of an ASCII character, and of one that is a code point already.
constexpr char32_t code_point_of(char ascii) {
  return static_cast<unsigned char>(ascii);
}
constexpr char32_t code_point_of(char32_t code_point) {
  return code_point;
}

struct DecodedCharacter {
  char32_t code_point = 0;      ///< with a fault, the first byte
  std::size_t length = 1;       ///< bytes, 1 to 4; 1 with a fault
  std::string_view fault = {};  ///< what is wrong, after "byte 0xE9 at offset 12 "; empty: nothing
  bool valid() const { return fault.empty(); }
};

/// The fault of a text that ends inside a character: more bytes could mend it.
inline constexpr std::string_view cut_off = "starts a character that the end cuts off";

/// The first character of `bytes`, which must not be empty.
DecodedCharacter decode_character(std::string_view bytes);

/// The only character of `text`; none where it is not just one.
std::optional<char32_t> single_character(std::string_view text);

/// Whether all of `text` is well-formed.
bool is_utf8(std::string_view text);

/// Whether `bytes` are the beginning, not the whole, of a character: "\xE2\x82" of "€". False for what no further byte
/// could mend, such as "\xED\xA0".
bool begins_character(std::string_view bytes);

/// Code points that a terminal obeys instead of showing: C0 (line ends and tabs among them) and C1 controls, line
/// separators, and marks, overrides and isolates of direction, which rewrite a line or disguise its order.
bool is_control(char32_t code_point);

/// "byte 0xE9 at PLACE starts a character that is not finished": why `bytes` do not begin a character.
std::string describe_fault(std::string_view bytes, const std::string& place);

void append_utf8(char32_t code_point, std::string& text);
std::string utf8_of(char32_t code_point);

/// The first of eight bytes in the lowest bits.
inline std::uint64_t eight_bytes(const char* bytes) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof eight);
  return std::endian::native == std::endian::big ? __builtin_bswap64(eight) : eight;
}

/// Bit i: byte i of eight starts a character, being no continuation byte.
inline std::uint32_t starts_of_eight(const char* bytes) {
  const std::uint64_t eight = eight_bytes(bytes);
  const std::uint64_t continues = eight >> 7 & ~(eight >> 6) & 0x0101010101010101U;
  return ~static_cast<std::uint32_t>(continues * 0x0102040810204080U >> 56) & 0xFF;
}

/// What decode_common_characters has done.
struct DecodedRun {
  std::size_t characters = 0, bytes = 0;
  bool stopped = false;  ///< before a character of another form, or a fault
};

/// Most bytes that decode_common_characters looks at.
constexpr std::size_t common_run = 32;

/// The characters of the first 32 bytes but for the last one, as long as they have the forms most texts are made of:
/// one and two bytes, and three outside the two ranges with exceptions (after 0xE0 and 0xED). `bytes` must hold 32. One
/// and two bytes are told apart without a branch, for no processor guesses where words of two-byte letters end.
inline DecodedRun decode_common_characters(const char* bytes, char32_t* to) {
  std::uint32_t starts = 0;
  for (int i = 0; i < 4; ++i) starts |= starts_of_eight(bytes + 8 * i) << 8 * i;
  DecodedRun run;
  if ((starts & 1) == 0) return {.stopped = true};
  for (starts &= starts - 1; starts != 0; starts &= starts - 1) {
    const auto byte = [from = bytes + run.bytes](int i) { return std::uint32_t{static_cast<unsigned char>(from[i])}; };
    const std::uint32_t next = static_cast<std::uint32_t>(std::countr_zero(starts));
    const std::uint32_t lead = byte(0), length = next - static_cast<std::uint32_t>(run.bytes);
    if (length <= 2) {
      const std::uint32_t single = length & 1;  // computed with, for compilers turn ?: into a branch
      const std::uint32_t least = 0xC2 & (single - 1), most = 0xE0 - (0xE0 - 0x80) * single;
      if ((std::uint32_t{lead < least} | std::uint32_t{lead >= most}) != 0) break;
      const std::uint32_t two = (lead & 0x1F) << 6 | (byte(1) & 0x3F);
      to[run.characters++] = two ^ ((two ^ lead) & (0 - single));
    } else {
      if (length != 3 || lead < 0xE1 || lead > 0xEF || lead == 0xED) break;
      to[run.characters++] = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    }
    run.bytes = next;
  }
  run.stopped = starts != 0 || run.bytes == 0;
  return run;
}

/// How many of the first bytes are ASCII. Stops at once where more than one character of the next eight bytes is not.
inline std::size_t ascii_length(std::string_view bytes) {
  for (std::size_t length = 0;; length += 8) {
    if (bytes.size() - length < 8) return length;
    const std::uint64_t others = eight_bytes(bytes.data() + length) & 0x8080808080808080U;
    if (others != 0)
      return length + (std::popcount(others) > 2 ? 0 : static_cast<std::size_t>(std::countr_zero(others)) / 8);
  }
}

/// Calls visit(code_point) for each character until the end or the first fault; returns how many bytes were characters.
/// A visitor that has visit.single_bytes(text) and visit.characters(code_points) gets runs of ASCII and of other
/// characters so.
template <class Visit>
std::size_t decode_utf8(std::string_view bytes, Visit&& visit) {
  constexpr bool takes_runs = requires(std::span<const char32_t> run) {
    visit.single_bytes(bytes);
    visit.characters(run);
  };
  std::size_t done = 0;
  while (done < bytes.size()) {
    bool mixed = true;
    if constexpr (takes_runs) {
      if (const std::size_t length = ascii_length(bytes.substr(done)); length > 0) {
        visit.single_bytes(bytes.substr(done, length));
        done += length;
        mixed = length % 8 == 0;
        if (done == bytes.size()) break;
      }
    }
    DecodedRun run{.stopped = true};
    if (mixed && bytes.size() - done >= common_run) {
      char32_t code_points[common_run];
      run = decode_common_characters(bytes.data() + done, code_points);
      const std::span<const char32_t> characters(code_points, run.characters);
      if constexpr (takes_runs)
        visit.characters(characters);
      else
        for (const char32_t code_point : characters) visit(code_point);
      done += run.bytes;
    }
    if (!run.stopped || done == bytes.size()) continue;
    const DecodedCharacter character = decode_character(bytes.substr(done));
    if (!character.valid()) break;
    visit(character.code_point);
    done += character.length;
  }
  return done;
}

}  // namespace chargpt
