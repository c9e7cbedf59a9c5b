// Foreign text inside a message: one line, no control characters, never longer than a reader wants; and as a word of a
// command that the reader may copy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace chargpt {

/// `text` with line ends, control characters and bytes that are not UTF-8 written as \n, \t, \xNN, and cut with "..."
/// after `max_bytes`; no quotation marks are added. Safe to print whatever a file or an argument held.
std::string printable(std::string_view text, std::size_t max_bytes = 80);
/// The same of a path, which people want whole: cut after 400 bytes.
std::string printable_path(const std::filesystem::path& path);
/// With \n, \t and \\ as what they stand for. Error usage, which begins with `what` and the text, for another escape.
std::string unescaped(std::string_view text, std::string_view what);
/// `word` as a shell takes it: as it is where no shell would change it, else in single quotes, with control characters
/// and bytes that are not UTF-8 as $'\n' and $'\xFF'. Every command that a message advises is made of these.
std::string shell_quoted(std::string_view word);

}  // namespace chargpt
