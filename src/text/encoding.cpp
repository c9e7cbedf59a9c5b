#include "text/encoding.h"

#include <algorithm>
#include <cstdint>

#include "base/files.h"
#include "base/names.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

constexpr std::size_t most_looked_at = std::size_t{16} << 20;  // bytes

unsigned char byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

/// Control characters that are rare in texts.
bool is_control_byte(std::uint32_t value) {
  return value < '\t' || (value > '\r' && value < 0x1B);
}

/// Examines bytes with NUL: UTF-16 or UTF-32 without a byte order mark, token ids, or anything else.
Evidence evidence_of_numbers(std::string_view bytes) {
  constexpr std::size_t fewest_ids = 500;
  const bool plain = std::ranges::none_of(  // ASCII text with NUL bytes
      bytes, [](unsigned char byte) { return byte != 0 && (byte >= 0x7F || is_control_byte(byte)); });
  const bool may_be_ids = !plain && bytes.size() % 2 == 0 && bytes.size() >= 2 * fewest_ids;
  bool ids = false;
  for (const std::size_t width : {4, 2})
    for (const bool big : {false, true}) {
      std::size_t ascii = 0, controls = 0;
      std::uint32_t greatest = 0;
      for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
        std::uint32_t value = 0;
        for (std::size_t k = 0; k < width; ++k) value = value << 8 | byte_at(bytes, i + (big ? k : width - 1 - k));
        greatest = std::max(greatest, value);
        controls += is_control_byte(value);
        ascii += value < 0x80;
      }
      if (bytes.size() % width == 0 && controls == 0 && ascii >= (plain ? 1 : 4) &&
          (plain ? 2 : 50) * width * ascii >= bytes.size() && greatest < code_point_limit) {
        const std::string name = line_of("UTF-", 8 * width, big ? "BE" : "LE");
        return {name + " without a byte order mark", "convert it", "iconv -f " + name + " -t UTF-8"};
      }
      ids |= !big && may_be_ids && greatest < (width == 2 ? 50304 : 1 << 18);  // GPT-2's, padded; the largest
    }
  if (ids)
    return {"made of numbers, as ids are (nanoGPT's train.bin)", "give the text that they were made from (input.txt)",
            ""};
  const std::size_t nul = bytes.find('\0');
  return {line_of("binary: its first NUL byte is at offset ", nul, " (line ",
                  1 + std::ranges::count(bytes.substr(0, nul), '\n'), ")"),
          "give a plain text", ""};
}

/// Whether the bytes may be WINDOWS-1252: few are 0x80 or above, most of those stand alone, and between ASCII letters
/// they are Western letters or an apostrophe. Icelandic texts fail, because their letters are Turkish or Czech in
/// similar encodings.
bool is_western(std::string_view bytes) {
  constexpr std::string_view others = "\xD0\xD7\xDD\xDE\xF0\xF7\xFD\xFE";
  const auto is_letter = [](int byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; };
  std::size_t high = 0, adjacent = 0, strange = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned char byte = byte_at(bytes, i), before = i > 0 ? byte_at(bytes, i - 1) : 0,
                        after = byte_at(bytes, i + 1);
    if (byte < 0x80) continue;
    ++high;
    adjacent += (before | after) >= 0x80;
    if (!is_letter(before) || !is_letter(after) || byte == 0x92) continue;
    strange += byte < 0xC0 || others.find(bytes[i]) != others.npos || (byte < 0xDF && before >= 'a');
  }
  return 5 * high <= bytes.size() && 2 * adjacent <= high && 50 * strange <= high;
}

/// What is there in bytes that are not all UTF-8.
struct Scan {
  std::size_t characters = 0, controls = 0;  ///< characters beyond ASCII, control characters
  std::size_t faults = 0, first = 0;         ///< bytes that are not UTF-8, and the offset of the first one
  bool cut = false;                          ///< the end is inside a character
  std::vector<std::string> lines;            ///< with faults
};

Scan scan(std::string_view bytes) {
  Scan found;
  for (std::size_t at = 0, line = 1; at < bytes.size() && !found.cut;) {
    const DecodedCharacter character = decode_character(bytes.substr(at));
    if (character.valid()) {
      found.characters += character.length > 1;
      found.controls += is_control_byte(character.code_point);
      line += bytes[at] == '\n' || (bytes[at] == '\r' && byte_at(bytes, at + 1) != '\n');
      at += character.length;
    } else {
      if (found.faults++ == 0) found.first = at;
      found.cut = character.fault == Fault::cut_off;
      if (const std::string number = std::to_string(line); found.lines.empty() || found.lines.back() != number)
        found.lines.push_back(number);
      ++at;
    }
  }
  return found;
}

/// Whether the bytes begin with a pair of surrogates in three bytes each.
bool is_pair_of_surrogates(std::string_view bytes) {
  return bytes.size() >= 6 && bytes[0] == '\xED' && (bytes[1] & 0xF0) == 0xA0 && bytes[3] == '\xED' &&
         (bytes[4] & 0xF0) == 0xB0;
}

}  // namespace

Evidence evidence_of(std::string_view bytes) {
  if (const auto kind = kind_of_file(bytes)) {
    const std::string name(kind->name);
    const bool is_text = name.starts_with("UTF-");
    return {name, is_text ? "convert it" : std::string(kind->advice), is_text ? "iconv -f " + name + " -t UTF-8" : ""};
  }
  if (bytes.find('\0') != bytes.npos) return evidence_of_numbers(bytes);
  const auto [characters, controls, faults, first, cut, lines] = scan(bytes);
  if (50 * controls > bytes.size()) return {"binary: it has many control characters", "give a plain text", ""};
  const std::string place = line_of("offset ", first, " (line ", lines.at(0), ")");
  if (cut && faults == 1 && characters > 0)
    return {"UTF-8, but ends inside a character, at " + place, "copy all of it again, or leave that character out",
            line_of("head -c ", first)};
  if (is_pair_of_surrogates(bytes.substr(first)))
    return {"CESU-8, not UTF-8: a pair of surrogates is at " + place, "convert it", "uconv -f CESU-8 -t UTF-8"};
  if (faults <= characters)
    return {line_of("UTF-8 but for ", faults, faults == 1 ? " byte" : " bytes", ", in ",
                    lines.size() == 1 ? "line " : "lines ", some_of(lines)),
            "correct them, or leave them out", "iconv -c -f UTF-8 -t UTF-8"};
  const std::string what = line_of("not UTF-8: ", describe_byte(bytes.substr(first)), " at ", place);
  if (is_western(bytes))
    return {what, "convert it, if its language is Western European", "iconv -f WINDOWS-1252 -t UTF-8"};
  return {what,
          "convert it from the encoding of its language, such as WINDOWS-1250 (Polish, Czech), WINDOWS-1251 (Russian), "
          "GB18030 (Chinese) or SHIFT_JIS (Japanese); file -i guesses and iconv -l lists them",
          "iconv -f ENCODING -t UTF-8"};
}

std::string command_line(const Evidence& evidence, const std::string& path) {
  return line_of(evidence.command, " ", shell_quoted(path), " > ", shell_quoted(path + ".utf8"));
}

namespace {

/// "characters were encoded twice, …" if a third of the characters beyond ASCII are UTF-8 that was read as WINDOWS-1252
/// and written as UTF-8 again; else "". The command damages other characters, so where there are such it is advised for
/// single lines.
std::string encoded_twice(std::string_view bytes) {
  if (std::ranges::none_of(bytes, [](char byte) { return (byte & 0x80) != 0; })) return "";
  std::size_t pairs = 0, others = 0, beyond_ascii = 0;
  std::string example;
  char32_t before = 0, greatest = 0;
  decode_utf8(bytes, [&](char32_t character) {
    // The bytes C2 to F4 begin a character; those that continue it, 80 to BF, are other characters in WINDOWS-1252.
    const auto begins = [](char32_t one) { return one >= 0xC2 && one <= 0xF4; };
    const bool continues = begins(before) && character >= 0x80 && (character < 0xC0 || character > 0xFF);
    others += begins(before) ? !continues : before < 0x80 && character >= 0x80 && !begins(character);
    if (continues) greatest = std::max(greatest, character);
    if (continues && pairs++ == 0) example = utf8_of(before) + utf8_of(character);
    beyond_ascii += character >= 0x80;
    before = character;
  });
  // Of characters of three bytes, which become three each, it is one pair in three.
  if (pairs < 2 || 10 * pairs < 3 * beyond_ascii) return "";
  return line_of(others > 0 ? "some " : "", "characters were encoded twice, such as '", example,
                 others > 0 ? "'; undo it in a file of these lines alone" : "'; undo it", ": iconv -f UTF-8 -t ",
                 greatest < 0x100 ? "ISO-8859-1" : "WINDOWS-1252", " FILE > NEW");
}

}  // namespace

std::vector<std::string> flaws_of(const TextBytes& text, Units units) {
  const std::string_view bytes = text.bytes.substr(0, most_looked_at);
  std::vector<std::string> flaws;
  if (text.mark_bytes > 0) flaws.emplace_back("byte order mark removed");
  if (const auto kind = kind_of_file(bytes))
    flaws.push_back(units == Units::bytes ? line_of(kind->name, ", whose bytes the model learns as they are")
                                          : line_of(kind->name, ", whose markup the model learns; ", kind->advice));
  if (units == Units::bytes) return flaws;
  if (bytes.find("\xEF\xBB\xBF") != bytes.npos)
    flaws.emplace_back("byte order marks inside, as where files were joined: sed 's/\\xEF\\xBB\\xBF//g' FILE > NEW");
  const auto is_lone = [](char a, char b) { return a == '\r' && b != '\n'; };
  if (std::ranges::adjacent_find(bytes, is_lone) != bytes.end() || text.bytes.ends_with('\r'))
    flaws.emplace_back("lines end in CR, which is not taken as a line end: sed 's/\\r$//; s/\\r/\\n/g' FILE > NEW");
  else if (bytes.find('\r') != bytes.npos)
    flaws.emplace_back("lines end in CR LF, and the model learns both; for LF alone: sed 's/\\r$//' FILE > NEW");
  if (const std::string flaw = encoded_twice(bytes); !flaw.empty()) flaws.push_back(flaw);
  return flaws;
}

}  // namespace chargpt
