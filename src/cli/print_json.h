// A JSON document on standard output, for programs, and for a terminal if that is where it goes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace chargpt {

/// json[key] = text. If text is not UTF-8, as a model of bytes may write, it has U+FFFD there for invalid bytes, and
/// json[key + "_base64"] holds its bytes (RFC 4648).
void add_text(nlohmann::ordered_json& json, const std::string& key, std::string_view text);

/// The document and a line end; `indent` -1: on one line. Bytes that are not UTF-8 (of a path) become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

/// json_text on standard output. On a terminal, what it would obey (DEL, C1 controls, direction overrides) is written
/// as \u009b: the same document.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

}  // namespace chargpt
