#include "cli/print_json.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/base64.h"
#include "base/utf8.h"
#include "report/escape.h"

namespace chargpt {

namespace {

/// nlohmann-json escapes everything below a space; outside strings a document has nothing else to escape.
std::string for_terminal(std::string text) {
  for (std::size_t at = 0; (at = text.find('\x7F', at)) != std::string::npos;) text.replace(at, 1, "\\u007f");
  return escape_for_terminal(text);
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
