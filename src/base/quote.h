// A line for people out of its parts. Foreign text inside it: no control characters, never longer than a reader wants;
// and as a word of a command that the reader may copy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>

namespace chargpt {

/// `text` with line ends, control characters and bytes that are not UTF-8 written as \n, \t, \xNN, and cut with "..."
/// after `max_bytes`; no quotation marks are added. Safe to print whatever a file or an argument held.
std::string printable(std::string_view text, std::size_t max_bytes = 80);
/// The same of a path, which people want whole: cut after 400 bytes.
std::string printable_path(const std::filesystem::path& path);
/// With \n, \r, \t and \\ as what they stand for. Error usage, which begins with `what` and the text, for another
/// escape.
std::string unescaped(std::string_view text, std::string_view what);
/// `word`, a path or a text that does not begin with "-", as a shell takes it: as it is where no shell would change it,
/// else in single quotes, with control characters and bytes that are not UTF-8 as $'\n' and $'\xFF'. Every command that
/// a message advises is made of these.
std::string shell_quoted(std::string_view word);

/// As std::printf writes a number, at most 399 bytes.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* form, ...);
/// With six significant digits, as `<<` writes it.
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

/// Texts as they are, numbers in decimals, paths printable: line_of("step ", 7, " of ", run).
template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::string line;
  (append_part(line, parts), ...);
  return line;
}

}  // namespace chargpt
