// A JSON document on standard output, for programs, and for a terminal if that is where it goes.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "report/json_text.h"

namespace chargpt {

/// json[key] = text. If text is not UTF-8, as a model of bytes may write, it has U+FFFD there for invalid bytes, and
/// json[key + "_base64"] holds its bytes (RFC 4648).
void add_text(nlohmann::ordered_json& json, const std::string& key, std::string_view text);

/// json_text on standard output. On a terminal, what it would obey (DEL, C1 controls, direction overrides) is written
/// as \u009b: the same document.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// The same on one line, of `json`, an object that is not empty, with one more member: the list `key` of `count` items.
/// They are made and written one by one, so that a long list takes no memory.
void print_json_with_list(const nlohmann::ordered_json& json, const std::string& key, std::size_t count,
                          const std::function<nlohmann::ordered_json(std::size_t)>& item);

}  // namespace chargpt
