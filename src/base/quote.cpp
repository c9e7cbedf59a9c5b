#include "base/quote.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

#include "base/error.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  std::string out;
  for (const char byte : bytes) out += formatted("\\x%02X", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.size() <= max_bytes && std::ranges::all_of(text, is_plain)) return std::string(text);  // nearly always
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_character(text.substr(i));
    const std::string_view symbol = text.substr(i, character.length);
    const bool escape = !character.valid() || is_control(character.code_point);
    const std::string shown = escape ? escaped(symbol) : std::string(symbol);
    if (out.size() + shown.size() > max_bytes) return out + "...";
    out += shown;
    i += symbol.size();
  }
  return out;
}

std::string unescaped(std::string_view text, std::string_view what) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      plain += text[i];
      continue;
    }
    const char escape = ++i < text.size() ? text[i] : ' ';
    const std::size_t known = std::string_view("nrt\\").find(escape);
    if (known == std::string_view::npos)
      throw Error(ExitCode::usage, what, printable(text),
                  R"(: a backslash begins \n, \r, \t or \\; write \\ for a backslash)");
    plain += "\n\r\t\\"[known];
  }
  return plain;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  const auto is_plain = [&](char c) { return plain.find(c) != std::string_view::npos || (c & 0x80) != 0; };
  const std::string begin = word.starts_with('-') && word != "-" ? "./" : "";  // a path, not to be taken for an option
  std::string escaped, quoted;
  for (const char c : word) {
    escaped += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  if (printable(word, SIZE_MAX) != word) return "$'" + begin + printable(escaped, SIZE_MAX) + "'";
  return !word.empty() && std::ranges::all_of(word, is_plain) ? begin + quoted : "'" + begin + quoted + "'";
}

std::string printable_path(const std::filesystem::path& path) {
  return printable(path.native(), 400);
}

std::string formatted(const char* form, ...) {
  std::array<char, 400> text{};
  std::va_list numbers;
  va_start(numbers, form);
  std::vsnprintf(text.data(), text.size(), form, numbers);
  va_end(numbers);
  return text.data();
}

std::string short_number(double number) {
  return formatted("%g", number);
}

}  // namespace chargpt
