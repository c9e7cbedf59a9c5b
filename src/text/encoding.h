// Guesses what bytes are that are not plain UTF-8, and finds likely mistakes in plain texts; both with the commands
// that correct them. Independent of files and vocabularies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "text/text_bytes.h"

namespace chargpt {

/// Why bytes are not a plain UTF-8 text, as far as one can tell.
struct Evidence {
  std::string what;     ///< completes "NAME is ": "a gzip archive"; details follow a colon
  std::string advice;   ///< "unpack it to plain text"
  std::string command;  ///< converts the file named after it to UTF-8: "iconv -f UTF-16 -t UTF-8"; "": not a text
};

/// Examines bytes that contain NUL or are not UTF-8.
Evidence evidence_of(std::string_view bytes);
/// The command that converts a file: "iconv -f UTF-16 -t UTF-8 my.txt > my.txt.utf8".
std::string command_line(const Evidence& evidence, const std::string& path);

/// Searches the beginning of a readable text for markup, byte order marks, line ends other than LF, and characters that
/// were encoded twice. Returns one line for each, to follow "NAME: ", with advice.
std::vector<std::string> flaws_of(const TextBytes& text, Units units);

}  // namespace chargpt
