#include "base/utf8.h"

#include "base/random.h"
#include "failure.h"

namespace chargpt {
namespace {

std::u32string decoded(std::string_view bytes, std::size_t* used = nullptr) {
  std::u32string text;
  const std::size_t done = decode_utf8(bytes, [&text](char32_t code_point) { text.push_back(code_point); });
  if (used != nullptr) *used = done;
  return text;
}

char32_t random_scalar(RandomStream& random) {
  constexpr char32_t limits[] = {0x80, 0x800, 0x10000, code_point_limit};
  while (true) {
    const auto code_point = static_cast<char32_t>(random.below(limits[random.below(4)]));
    if (is_scalar_value(code_point)) return code_point;
  }
}

/// One character after the other, and how many bytes they were.
std::u32string decoded_one_by_one(std::string_view bytes, std::size_t& used) {
  std::u32string text;
  for (used = 0; used < bytes.size();) {
    const DecodedCharacter character = decode_character(bytes.substr(used));
    if (!character.valid()) break;
    text.push_back(character.code_point);
    used += character.length;
  }
  return text;
}

}  // namespace

TEST_CASE("a text decodes to its characters one by one, up to the first fault, wherever that is") {
  RandomStream random(8, Purpose::windows);
  const std::vector<std::string> faults = {
      "\x80",         "\xC3",     "\xC1\x81", "\xC3\xC3", "\xE0\x81\x81", "\xED\xA0\x81", "\xE2\x82",
      "\xE2\x82\x41", "\xF5\x81", "\xFF",     "\xBF\xBF", "\xF0\x90\x81", "a\x81",        "\xC3\xA9\x81"};
  for (int part = 0; part < 300; ++part) {
    std::string bytes;
    while (bytes.size() < 50) bytes += std::string(random.below(12), ' ') + utf8_of(random_scalar(random));
    if (part % 3 != 0) {
      const std::size_t at = random.below(bytes.size());
      bytes = bytes.substr(0, at) + faults[random.below(faults.size())] + bytes.substr(at);
    }
    std::size_t used_by_one = 0;
    const std::u32string expected = decoded_one_by_one(bytes, used_by_one);
    std::size_t used = 0;
    REQUIRE(decoded(bytes, &used) == expected);
    REQUIRE(used == used_by_one);
    REQUIRE(count_characters(std::string_view(bytes).substr(0, used)) == expected.size());
  }
}

TEST_CASE("overlong forms, surrogates, large values and stray bytes are not UTF-8; a cut character may be completed") {
  for (const char* bytes :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\x80", "\xBF", "\xF8\x88\x80\x80\x80", "\xFE",
        "\xFF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF7\xBF\xBF\xBF", "\xE2\x82!", "\xC3\xC3\xA9"})
    CHECK(decode_character(bytes).fault == Fault::invalid);
  for (const char* bytes : {"\xC3", "\xE2\x82", "\xF0\x9F\x98"}) CHECK(decode_character(bytes).fault == Fault::cut_off);
}

TEST_CASE("the scalar values are exactly the values that come back from their encoding") {
  for (char32_t code_point = 0; code_point < code_point_limit; ++code_point) {
    if (!is_scalar_value(code_point)) continue;
    const DecodedCharacter character = decode_character(utf8_of(code_point));
    if (character.code_point == code_point && character.valid()) continue;
    FAIL("U+" << std::hex << static_cast<std::uint32_t>(code_point));
  }
  CHECK(decoded("\xC2\x80\xDF\xBF\xED\x9F\xBF\xF4\x8F\xBF\xBF") == std::u32string{0x80, 0x7FF, 0xD7FF, 0x10FFFF});
  CHECK(error_of([] { utf8_of(0xD800); }).code == ExitCode::internal);
  CHECK(error_of([] { utf8_of(0x110000); }).code == ExitCode::internal);
}

TEST_CASE("the beginning of a character is told from what no further byte could mend") {
  for (const char32_t code_point : {U'\u00E9', U'\u0800', U'\uD7FF', U'\uE000', U'\U00010000', U'\U0010FFFF'}) {
    const std::string whole = utf8_of(code_point);
    for (std::size_t length = 1; length < whole.size(); ++length) CHECK(begins_character(whole.substr(0, length)));
    CHECK_FALSE(begins_character(whole));
  }
  for (const std::string bytes :
       {"", "a", "\x80", "\xC1", "\xE0\x9F", "\xED\xA0", "\xF0\x8F", "\xF4\x90", "\xF5", "\xE2("})
    CHECK_FALSE(begins_character(bytes));
}

}  // namespace chargpt
