#include "text/vocabulary.h"

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/random.h"
#include "failure.h"
#include "tinyshakespeare.h"

namespace chargpt {
namespace {

using nlohmann::json;

Vocabulary letters() {
  return Vocabulary::of_characters({'\n', ' ', '?', 'a', 'b', 'c'});
}

Vocabulary parsed(const std::string& text) {
  return Vocabulary::from_json(json::parse(text), "vocab.json");
}

Failure refusal_of(const std::string& text) {
  return error_of([&] { parsed(text); });
}

}  // namespace

TEST_CASE("ids are places in code-point order") {
  const Vocabulary vocabulary = letters();
  CHECK(vocabulary.size() == 6);
  CHECK(vocabulary.units() == Units::characters);
  CHECK(vocabulary.encode("cab\n", "text") == Ids{5, 3, 4, 0});
  CHECK(vocabulary.decode({5, 3, 4, 0}) == "cab\n");
  CHECK(vocabulary.symbol(2) == "?");
  CHECK(vocabulary.id_of('b') == 4);
  CHECK(vocabulary.id_of('d') == -1);
  CHECK(vocabulary.id_of(0x10FFFF) == -1);
}

TEST_CASE("a byte vocabulary has every byte, each its own id") {
  const Vocabulary vocabulary = Vocabulary::of_bytes();
  CHECK(vocabulary.size() == 256);
  CHECK(vocabulary.encode("\xFF\xC3\xA9", "text") == Ids{255, 195, 169});
  CHECK(vocabulary.encode(std::string("\0a", 2), "text") == Ids{0, 97});
  CHECK(vocabulary.decode({195, 169, 255, 0}) == std::string("\xC3\xA9\xFF\0", 4));
  CHECK(vocabulary.id_of(255) == 255);
  CHECK(vocabulary.id_of(256) == -1);
}

TEST_CASE("unknown characters are named with number, place and count") {
  const auto message = [](const char* text, const char* what) {
    return error_of([&] { letters().encode(text, what, UnknownPolicy::error); });
  };
  CHECK(message("a b c ☺bcé", "--prompt") ==
        data_error("--prompt has 2 characters that the model has never seen: '☺' (U+263A) at 6, 'é' (U+00E9) at 9; "
                   "leave them out, or --unknown skip"));
  CHECK(message("zazzyxwv", "story.txt") ==
        data_error("story.txt has 5 characters that the model has never seen: 'z' (U+007A) at 0, "
                   "'y' (U+0079) at 4, 'x' (U+0078) at 5 and 2 more; leave them out, or --unknown skip"));
  CHECK(error_of([] { letters().encode("x", "--prompt"); }) ==  // of a command without --unknown
        data_error("--prompt has 1 character that the model has never seen: 'x' (U+0078) at 0; leave them out"));
}

TEST_CASE("a composed character is unknown to a model of a decomposed text, and the message says so") {
  const auto refusal = [](char32_t part, const char* whole) {
    return error_of([&] { Vocabulary::of_characters({'e', part}).encode(whole, "--prompt"); }).line;
  };
  const std::string hint = "; the training text has accents as separate characters, uconv -x nfc composes them; ";
  for (const auto& [part, whole] : {std::pair(U'\u0300', "À"), {U'\u3099', "が"}, {U'\u1161', "가"}, {U'\u11C2', "갛"}})
    CHECK_THAT(refusal(part, whole), Catch::Contains(hint));
  CHECK_THAT(refusal(U'\u00EA', "e\u0302"), Catch::Contains("; --prompt has accents as separate characters, uconv"));
  CHECK_THAT(error_of([] { letters().encode("ê", "--prompt"); }).line, !Catch::Contains("uconv"));
}

TEST_CASE("unknown characters are left out or replaced where asked") {
  CHECK(letters().encode("a☺b", "text", UnknownPolicy::skip) == Ids{3, 4});
  CHECK(letters().encode("a☺b", "text", UnknownPolicy::replace) == Ids{3, 2, 4});
  const Vocabulary with_space = Vocabulary::of_characters({'\n', ' ', 'a'}),
                   plain = Vocabulary::of_characters({'a', 'b'});
  CHECK(with_space.encode("a☺", "text", UnknownPolicy::replace) == Ids{2, 1});
  CHECK(plain.encode("b☺", "text", UnknownPolicy::replace) == Ids{1, 0});
}

TEST_CASE("a prompt that is not UTF-8 is refused whatever the policy") {
  for (const auto policy : {UnknownPolicy::error, UnknownPolicy::skip, UnknownPolicy::replace})
    CHECK(error_of([&] { letters().encode("ab\xE9", "--prompt", policy); }) ==
          data_error("--prompt is not UTF-8: byte 0xE9 at offset 2; convert it to UTF-8 (iconv)"));
}

TEST_CASE("an id outside the vocabulary is refused") {
  CHECK(error_of([] { letters().decode({0, 6}); }) == data_error("id 6 is outside the vocabulary of 6 symbols"));
  CHECK(error_of([] { letters().symbol(-1); }) == data_error("id -1 is outside the vocabulary of 6 symbols"));
  CHECK(error_of([] { Vocabulary::of_bytes().symbol(256); }) ==
        data_error("id 256 is outside the vocabulary of 256 symbols"));
}

TEST_CASE("decoding undoes encoding on random texts of any script") {
  RandomStream random(3, Purpose::windows);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(80); i > 0; --i) {
      const auto code_point = static_cast<char32_t>(1 + random.below(random.below(2) ? 0x80 : 0x10FFFF));
      if (is_scalar_value(code_point)) text += utf8_of(code_point);
    }
    const Vocabulary characters = corpus_from_text(text + ".", {}, "text").vocabulary();
    CHECK(characters.decode(characters.encode(text, "text")) == text);
    CHECK(Vocabulary::of_bytes().decode(Vocabulary::of_bytes().encode(text, "text")) == text);
  }
}

TEST_CASE("a vocabulary survives vocab.json") {
  const Vocabulary characters = Vocabulary::of_characters({'\n', '"', 'a', U'é', U'字', U'😀'});
  CHECK(characters.to_json().dump() == R"({"kind":"characters","symbols":["\n","\"","a","é","字","😀"]})");
  CHECK(Vocabulary::from_json(json::parse(characters.to_json().dump()), "vocab.json") == characters);
  CHECK(Vocabulary::of_bytes().to_json().dump() == R"({"kind":"bytes"})");
  CHECK(parsed(R"({"kind":"bytes"})") == Vocabulary::of_bytes());
  CHECK(parsed(R"({"kind":"characters","symbols":["a"]})") != Vocabulary::of_bytes());
}

TEST_CASE("a vocab.json that is not one is refused with its place") {
  const auto of_symbols = [](const std::string& list) {
    return refusal_of(R"({"kind":"characters","symbols":)" + list + "}");
  };
  const auto refusal = [](const std::string& symbol) {
    return data_error("vocab.json is not a vocabulary: symbols" + symbol +
                      " is not a single character above the one before it");
  };
  const Failure other = data_error("vocab.json is not a vocabulary of characters or bytes");
  for (const char* text :
       {"[]", "7", "{}", R"({"kind":1})", R"({"kind":"words"})", R"({"kind":"bytes","symbols":[]})",
        R"({"kind":"bytes","size":9})", R"({"kind":"characters"})", R"({"kind":"characters","symbols":[]})",
        R"({"kind":"characters","symbols":"a"})", R"({"kind":"bytes","document":255})"})
    CHECK(refusal_of(text) == other);
  CHECK(of_symbols(R"(["a",7])") == refusal("[1] = 7"));
  CHECK(of_symbols(R"(["ab"])") == refusal("[0] = \"ab\""));
  CHECK(of_symbols(R"([""])") == refusal("[0] = \"\""));
  CHECK(of_symbols(R"(["a","b","b"])") == refusal("[2] = \"b\""));
  CHECK(of_symbols(R"(["a","\n"])") == refusal("[1] = \"\\n\""));
}

TEST_CASE("a vocab.json made in memory of bytes that are not UTF-8 is refused") {
  json vocabulary{{"kind", "characters"}};
  vocabulary["symbols"] = json::array({"\xED\xA0\x80"});
  CHECK(error_of([&] { Vocabulary::from_json(vocabulary, "vocab.json"); }).code == ExitCode::data);
}

TEST_CASE("characters are described so that a terminal can show them") {
  CHECK(describe_character('x') == "'x' (U+0078)");
  CHECK(describe_character(' ') == "' ' (U+0020)");
  CHECK(describe_character(U'☺') == "'☺' (U+263A)");
  CHECK(describe_character(U'😀') == "'😀' (U+1F600)");
  for (const char32_t hidden :
       {0x00, 0x0A, 0x1B, 0x7F, 0x85, 0xA0, 0xAD, 0x301, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xFFFE, 0xE0001})
    CHECK(describe_character(hidden).starts_with("U+"));
  CHECK(describe_character('\t') + describe_character(0x302) == "U+0009 (tab)U+0302 (combining mark)");
  CHECK(describe_character(0x1B) == "U+001B");
  CHECK(describe_character(0x110000) == "U+110000");
}

TEST_CASE("tinyshakespeare has 65 characters, of which nine tenths train, and begins as its first window says") {
  NEEDS_TINYSHAKESPEARE();
  CHECK(tinyshakespeare().vocabulary().size() == 65);
  CHECK(tinyshakespeare().train().size() == 1'003'854);
  CHECK(tinyshakespeare().val().size() == 111'540);
  Ids window(9);
  tinyshakespeare().train().copy(0, 9, window.data());
  CHECK(window == Ids{18, 47, 56, 57, 58, 1, 15, 47, 58});
  CHECK(tinyshakespeare().vocabulary().decode(window) == "First Cit");
}

}  // namespace chargpt
