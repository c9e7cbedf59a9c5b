#include "base/quote.h"

#include "base/utf8.h"

namespace chargpt {
namespace {

std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\r") return "\\r";
  if (bytes == "\t") return "\\t";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_character(text.substr(i));
    const bool valid = character.fault == Utf8Fault::none;
    const std::string_view symbol = text.substr(i, valid ? static_cast<std::size_t>(character.length) : 1);
    const std::string shown = !valid || is_control(character.code_point) ? escaped(symbol) : std::string(symbol);
    if (out.size() + shown.size() > max_bytes) return out + "...";
    out += shown;
    i += symbol.size();
  }
  return out;
}

std::string printable_path(const std::filesystem::path& path) {
  return printable(path.native(), 400);
}

}  // namespace chargpt
