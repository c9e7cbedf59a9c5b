// Decides by an option's JSON Schema whether it accepts a value, and words the refusal. A type of option is a schema
// and two conversions (describe.cpp); the checks and messages here serve all types.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/source.h"

namespace chargpt {

/// Converts `value` to the value of the option `key`, by the option's schema; a single string becomes a list if the
/// schema takes lists. Error usage if the schema does not accept it: it begins with the line and names key, value and
/// limit.
nlohmann::json accepted(const nlohmann::json& value, const nlohmann::ordered_json& schema, const std::string& key,
                        const Source& source);

/// Converts a word from the command line to the type of the schema: ".5" becomes a number, "mlp,norm" a list. A word
/// that does not fit the type stays a string.
nlohmann::json typed(const std::string& word, const nlohmann::ordered_json& schema);

/// "a number from 0 to 1", "a whole number, at least 1", "a number above 0": `range` as range_text() returns it.
std::string in_range(const std::string& what, const std::string& range);

/// The range of a schema: "1 to 1000", "at least 0", "layernorm|rmsnorm|none", "true|false"; "" if every value of the
/// type is allowed.
std::string range_text(const nlohmann::ordered_json& schema);

}  // namespace chargpt
