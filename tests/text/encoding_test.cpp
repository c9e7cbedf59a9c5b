// Bytes in the encodings that people have, made by Python's codecs from the words in the comments.
#include "text/encoding.h"

#include "test.h"

namespace chargpt {
namespace {

using namespace std::literals;

std::string repeated(std::string_view text, int count = 600) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<std::string> flaws_in(std::string_view text) {
  return flaws_of(text_in_memory("text", text), Units::characters);
}

}  // namespace

TEST_CASE("bytes that are not UTF-8 are named by evidence, with the command that makes UTF-8 of them") {
  const auto command_of = [](std::string_view bytes) { return evidence_of(bytes).command; };
  CHECK(command_of("a\0b\0\n\0"sv) == "iconv -f UTF-16LE -t UTF-8");
  CHECK(command_of("\4\x3f\0\n\4\x40\0!\0 \0\n"sv) == "iconv -f UTF-16BE -t UTF-8");  // "п\nр! \n"
  CHECK(command_of("a\0\0\0b\0\0\0"sv) == "iconv -f UTF-32LE -t UTF-8");
  CHECK(command_of("\xFF\xFE\0\0a\0\0\0"sv) == "iconv -f UTF-32 -t UTF-8");
  CHECK(command_of("\xFF\xFE"
                   "a\0"sv) == "iconv -f UTF-16 -t UTF-8");
  CHECK(command_of("a\xED\xA0\xBD\xED\xB8\x80") == "uconv -f CESU-8 -t UTF-8");
  for (const char* bytes : {"éà\n\xC0\x80", "éàê\n\xED\xA0\xBD", "éàê\n\xE0\x80\x80"})  // overlong, a lone surrogate
    CHECK_THAT(evidence_of(bytes).what, Catch::EndsWith(" bytes, in line 2"));
  CHECK(command_of("été \xC3") == "head -c 6");
  const Evidence stray = evidence_of("é\rè\nl\xE9t\xE9\r\nêà");
  CHECK(stray.what + stray.command == "UTF-8 but for 2 bytes, in line 3iconv -c -f UTF-8 -t UTF-8");
  CHECK(evidence_of("é\n\x80\n\x81\n\x82\n\x83éêèàù").what == "UTF-8 but for 4 bytes, in lines 2, 3, 4 and 1 more");
  for (const char* western : {"d\xE9j\xE0 ferm\xE9, le caf\xE9 du coin",
                              "Die gr\xF6\xDFte Stra\xDF"
                              "e nach K\xF6ln, sch\xF6n",
                              "\x93"
                              "Don\x92t!\x94 said he"})
    CHECK(command_of(western) == "iconv -f WINDOWS-1252 -t UTF-8");
  for (const char* other : {"\xB3y\xBFki, g\xEA\x9C", "P\xF8\xEDli\x9A \x9Elu\x9Dou\xE8k\xFD k\xF9\xF2",
                            "\xEF\xF0\xE8\xE2\xE5\xF2 10", "\xCC\xEC\xB5\xD8", "d\x8Ej\x88 ferm\x8E, au caf\x8E ou",
                            "a\xF0"
                            "a\xE7lar\xFDn alt\xFDnda oturdu"})  // Polish, Czech, Russian, GBK, Mac, Turkish
    CHECK(command_of(other) == "iconv -f ENCODING -t UTF-8");
}

TEST_CASE("bytes that are no text have no such command") {
  for (const std::string_view ids :
       {"\1+\0\2"sv, "\1\0+\0"sv, "\1\x35\0\0\1\x36\0\0"sv, "\1\0\0\0\0\0\0\0+\0\0\0\0\0\0\0"sv})
    CHECK(evidence_of(repeated(ids)).what == "made of numbers, as ids are (nanoGPT's train.bin)");  // of 8 to 64 bits
  CHECK(evidence_of(repeated("abc\0def\n"sv)).what == "binary: its first NUL byte is at offset 3 (line 1)");
  CHECK(evidence_of("gif\n\0\x80"sv).what == "binary: its first NUL byte is at offset 4 (line 2)");
  CHECK(evidence_of("\x89\1\2\3 and so on").command.empty());
}

TEST_CASE("what is likely to be a mistake in a text is told once") {
  CHECK(flaws_in("déjà « vu »\n“café”: voilà\u00A0!\n").empty());
  CHECK(flaws_in("a\r\nb\r\n") ==
        Names{"lines end in CR LF, and the model learns both; for LF alone: sed 's/\\r$//' FILE > NEW"});
  for (const char* lone : {"a\rb", "a\r\nb\r", "a\r\r\nb"})
    CHECK_THAT(flaws_in(lone).at(0), Catch::StartsWith("lines end in CR, "));
  CHECK_THAT(flaws_in("dÃ©jÃ\u00A0").at(0), Catch::EndsWith("'Ã©'; undo it: iconv -f UTF-8 -t ISO-8859-1 FILE > NEW"));
  CHECK_THAT(flaws_in("â€œaâ€").at(0), Catch::EndsWith("'â€'; undo it: iconv -f UTF-8 -t WINDOWS-1252 FILE > NEW"));
  // Undoing it in all of a text damages characters that were encoded once.
  for (const char* partly : {"déjà vu. dÃ©jÃ\u00A0 vu", "dÃ©jÃ\u00A0 – voilÃ\u00A0", "żyć. dÃ©jÃ\u00A0, dÃ©jÃ\u00A0"})
    CHECK_THAT(flaws_in(partly).at(0), Catch::Contains("some ") && Catch::Contains("undo it in a file of these lines"));
  for (const char* clean : {"déjà vu, un café: dÃ©jà, là-bas", "cafÃ©", "Олардың құқығы: өмір", "├──┬─┐ é"})
    CHECK(flaws_in(clean).empty());
  CHECK(flaws_in("{\\rtf1 a}") == Names{"an RTF document, whose markup the model learns; convert it to plain text"});
  CHECK(flaws_in("\uFEFF\uFEFFa") == Names{"byte order mark removed"});
  CHECK_THAT(flaws_in(repeated("text", 5000) + "\uFEFFb").at(0), Catch::StartsWith("byte order marks inside, "));
}

}  // namespace chargpt
