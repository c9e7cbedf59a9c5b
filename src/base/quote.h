// Builds lines for people, and quotes untrusted text in them: without control characters, cut to a readable length, or
// as a word of a shell command that the reader may copy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

namespace chargpt {

/// `text` with line ends, control characters and invalid UTF-8 escaped as \n, \t, \xNN, and cut with "..." after
/// `max_bytes`; adds no quotation marks. Safe to print, whatever a file or an argument contains.
std::string printable(std::string_view text, std::size_t max_bytes = 80);
/// printable() for a path, which people want whole: cut after 400 bytes.
std::string printable_path(const std::filesystem::path& path);
/// `text` with the escapes \n, \r, \t and \\ replaced by their characters. Error usage, which begins with `what` and
/// the text, for any other escape.
std::string unescaped(std::string_view text, std::string_view what);
/// `word` quoted for a shell: unchanged if no shell would change it, else in single quotes, or as $'\n' and $'\xFF' if
/// it has control characters or invalid UTF-8. A leading "-" becomes "./-", so that a path is not taken for an option.
/// Every command in a message is built with it.
std::string shell_quoted(std::string_view word);

/// Formats as std::printf does, at most 399 bytes.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* form, ...);
/// `number` with six significant digits, as `<<` prints it.
std::string short_number(double number);

template <class Part>
void append_part(std::string& line, const Part& part) {
  if constexpr (std::is_same_v<Part, std::filesystem::path>)
    line += printable_path(part);
  else if constexpr (std::is_floating_point_v<Part>)
    line += short_number(part);
  else if constexpr (std::is_integral_v<Part> && !std::is_same_v<Part, char>)
    line += std::to_string(part);
  else
    line += part;
}

/// Joins texts, numbers (in decimals) and paths (printable) to one line: line_of("step ", 7, " of ", run).
template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::string line;
  (append_part(line, parts), ...);
  return line;
}

}  // namespace chargpt
