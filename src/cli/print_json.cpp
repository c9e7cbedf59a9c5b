#include "cli/print_json.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/utf8.h"
#include "report/escape.h"

namespace chargpt {

namespace {

/// nlohmann-json escapes everything below a space; outside strings a document has nothing else to escape.
std::string for_terminal(std::string text) {
  for (std::size_t at = 0; (at = text.find('\x7F', at)) != std::string::npos;) text.replace(at, 1, "\\u007f");
  return escape_for_terminal(text);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += at + i > bytes.size() ? '=' : digits[group >> (18 - 6 * i) & 0x3F];
  }
  return text;
}

}  // namespace

void add_text(nlohmann::ordered_json& json, const std::string& key, std::string_view text) {
  json[key] = std::string(text);
  if (!is_utf8(text)) json[key + "_base64"] = base64(text);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  const std::string text = json_text(json, indent);
  std::fputs((isatty(STDOUT_FILENO) != 0 ? for_terminal(text) : text).c_str(), stdout);
}

}  // namespace chargpt
