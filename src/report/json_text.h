// JSON as text, whatever bytes its strings hold, and text of others as JSON. Knows no stream.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace chargpt {

/// The document and a line end; `indent` -1: on one line. Bytes that are not UTF-8 (of a path) become U+FFFD: a name
/// may not end what it is only told by.
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

/// What a file says that anything may have written; is_discarded() where it is not JSON, or nests deeper than 16
/// levels: to copy JSON of any depth takes a stack of any size.
nlohmann::ordered_json foreign_json(std::string_view text);

}  // namespace chargpt
