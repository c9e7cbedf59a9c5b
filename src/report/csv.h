// Comma-separated values as RFC 4180 has them. Pure; knows no file.
#pragma once

#include <string>

namespace chargpt {

/// A field, in quotation marks where it holds a comma, a quotation mark or a line end.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace chargpt
