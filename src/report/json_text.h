// A JSON document as text, whatever bytes its strings hold. Knows no stream.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace chargpt {

/// The document and a line end; `indent` -1: on one line. Bytes that are not UTF-8 (of a path) become U+FFFD: a name
/// may not end what it is only told by.
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

}  // namespace chargpt
