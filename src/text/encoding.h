// What bytes that are not plain UTF-8 are, by evidence, and what in a plain text is likely to be a mistake; with the
// commands that mend it. Independent of files and vocabularies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "text/text_bytes.h"

namespace chargpt {

/// Why bytes are not a plain UTF-8 text.
struct Evidence {
  std::string what;     ///< "a gzip archive", after "NAME is "; details after a colon
  std::string advice;   ///< "unpack it to plain text"
  std::string command;  ///< makes UTF-8 of a file whose name follows: "iconv -f UTF-16 -t UTF-8"; "": they are no text
};

/// Of bytes that contain NUL or are not UTF-8.
Evidence evidence_of(std::string_view bytes);
/// "iconv -f UTF-16 -t UTF-8 my.txt > my.txt.utf8"
std::string command_line(const Evidence& evidence, const std::string& path);

/// Looks at the beginning of a text that can be read for markup, byte order marks, line ends other than LF, and
/// characters that were encoded twice. Each is a line with what mends it, after "NAME: ".
std::vector<std::string> flaws_of(const TextBytes& text, Units units);

}  // namespace chargpt
