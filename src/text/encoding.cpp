#include "text/encoding.h"

#include <algorithm>
#include <array>
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

/// Whether the bytes begin with a surrogate in three bytes. `first`: 0xA0 for the first of a pair, 0xB0 for the second.
bool is_surrogate(std::string_view bytes, unsigned char first) {
  return bytes.size() >= 3 && bytes[0] == '\xED' && (bytes[1] & 0xF0) == first && (bytes[2] & 0xC0) == 0x80;
}

/// What is there in bytes that are not all UTF-8.
struct Scan {
  std::size_t characters = 0, pairs = 0, controls = 0;  ///< characters beyond ASCII, pairs of surrogates
  std::size_t faults = 0, first = 0;                    ///< the offset of the first one
  std::string_view kind;                                ///< of all faults; " byte" if they differ
  bool cut = false;                                     ///< the end is inside a character
  std::vector<std::string> lines;                       ///< with faults
};

/// The name of the fault that `bytes` begin with, and its length.
std::pair<std::string_view, std::size_t> fault_at(std::string_view bytes, Fault fault) {
  if (is_surrogate(bytes, 0xA0) || is_surrogate(bytes, 0xB0)) return {" lone surrogate", 3};
  if (fault != Fault::overlong) return {" byte", 1};
  return {" overlong form", byte_at(bytes, 0) < 0xE0 ? 2 : byte_at(bytes, 0) < 0xF0 ? 3 : 4};
}

Scan scan(std::string_view bytes) {
  Scan found;
  for (std::size_t at = 0, line = 1; at < bytes.size() && !found.cut;) {
    const std::string_view rest = bytes.substr(at);
    const DecodedCharacter character = decode_character(rest);
    if (is_surrogate(rest, 0xA0) && is_surrogate(rest.substr(3), 0xB0)) {
      ++found.pairs;
      at += 6;
    } else if (character.valid()) {
      found.characters += character.length > 1;
      found.controls += is_control_byte(character.code_point);
      line += bytes[at] == '\n' || (bytes[at] == '\r' && byte_at(bytes, at + 1) != '\n');
      at += character.length;
    } else {
      const auto [kind, length] = fault_at(rest, character.fault);
      if (found.faults++ == 0) found.first = at;
      found.kind = found.faults == 1 || found.kind == kind ? kind : " byte";
      found.cut = character.fault == Fault::cut_off;
      if (const std::string number = std::to_string(line); found.lines.empty() || found.lines.back() != number)
        found.lines.push_back(number);
      at += length;
    }
  }
  return found;
}

}  // namespace

Evidence evidence_of(std::string_view bytes) {
  if (const auto kind = kind_of_file(bytes)) {
    const std::string name(kind->name);
    const bool is_text = name.starts_with("UTF-");
    return {name, is_text ? "convert it" : std::string(kind->advice), is_text ? "iconv -f " + name + " -t UTF-8" : ""};
  }
  if (bytes.find('\0') != bytes.npos) return evidence_of_numbers(bytes);
  const auto [characters, pairs, controls, faults, first, kind, cut, lines] = scan(bytes);
  if (50 * controls > bytes.size()) return {"binary: it has many control characters", "give a plain text", ""};
  if (faults == 0)
    return {line_of("CESU-8, not UTF-8: it has ", pairs, pairs == 1 ? " pair" : " pairs", " of surrogates"),
            "convert it", "uconv -f CESU-8 -t UTF-8"};
  const std::string place = line_of("offset ", first, " (line ", lines[0], ")");
  if (cut && faults == 1 && characters > 0)
    return {"UTF-8, but ends inside a character, at " + place, "copy all of it again, or leave that character out",
            line_of("head -c ", first)};
  if (faults <= characters || kind != " byte")
    return {line_of("UTF-8 but for ", faults, kind, faults == 1 ? "" : "s",
                    kind == " overlong form" ? " (Java's modified UTF-8 writes NUL as C0 80)" : "", ", in ",
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

/// "ISO-2022-JP, not UTF-8; …" of a text whose ASCII bytes mean other characters; else "". ESC ( B alone is a
/// terminal's.
std::string encoded_in_ascii(std::string_view bytes) {
  const auto has = [&](std::string_view escape) { return bytes.find(escape) != bytes.npos; };
  const std::string name = has("\x1B$B") || has("\x1B$@") ? "ISO-2022-JP" : has("\x1B$)C") ? "ISO-2022-KR" : "";
  return name.empty() ? "" : name + ", not UTF-8; convert it: iconv -f " + name + " -t UTF-8 FILE > NEW";
}

/// UTF-8 that was read in another encoding and written as UTF-8 again: the bytes C2 to F4, which begin a character,
/// became `first` to `last`, and those that continue it other characters beyond ASCII than `low` to `high`.
struct Misread {
  char32_t first, last, low, high;
  const char* encoding;
};
constexpr std::array<Misread, 4> misread = {{{0xC2, 0xF4, 0xC0, 0xFF, "WINDOWS-1252"},
                                             {0x412, 0x444, 0x410, 0x44F, "WINDOWS-1251"},
                                             {U'├', U'┬', 0x2500, 0x257F, "CP437"},
                                             {U'√', U'√', U'√', U'√', "MACINTOSH"}}};

/// "characters were encoded twice, …" if a third of the characters beyond ASCII were; else "". The command damages
/// characters that were encoded once, so where there are such it is advised for single lines.
std::string encoded_twice(std::string_view bytes) {
  if (std::ranges::none_of(bytes, [](char byte) { return (byte & 0x80) != 0; })) return "";
  std::array<std::size_t, misread.size()> pairs{}, others{};
  std::array<std::string, misread.size()> examples;
  std::size_t beyond_ascii = 0;
  char32_t before = 0, greatest = 0;
  decode_utf8(bytes, [&](char32_t character) {
    for (std::size_t i = 0; std::max(before, character) >= 0x80 && i < misread.size(); ++i) {
      const auto& [first, last, low, high, encoding] = misread[i];
      const bool begun = before >= first && before <= last, begins = character >= first && character <= last;
      const bool continues = begun && character >= 0x80 && (character < low || character > high);
      others[i] += begun ? !continues : before < 0x80 && character >= 0x80 && !begins;
      if (continues) greatest = std::max({greatest, before, character});
      if (continues && pairs[i]++ == 0) examples[i] = utf8_of(before) + utf8_of(character);
    }
    beyond_ascii += character >= 0x80;
    before = character;
  });
  const auto most = static_cast<std::size_t>(std::ranges::max_element(pairs) - pairs.begin());
  // Of characters of three bytes, which become three each, it is one pair in three.
  if (pairs[most] < 2 || 10 * pairs[most] < 3 * beyond_ascii) return "";
  return line_of(others[most] > 0 ? "some " : "", "characters were encoded twice, such as '", examples[most],
                 others[most] > 0 ? "'; undo it in a file of these lines alone" : "'; undo it", ": iconv -f UTF-8 -t ",
                 greatest < 0x100 ? "ISO-8859-1" : misread[most].encoding, " FILE > NEW");
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
  for (const std::string& flaw : {encoded_in_ascii(bytes), encoded_twice(bytes)})
    if (!flaw.empty()) flaws.push_back(flaw);
  return flaws;
}

}  // namespace chargpt
