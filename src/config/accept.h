// Whether an option accepts a value, by the option's JSON Schema, and what it accepts in words. A type of option is a
// schema and two conversions (describe.cpp); the checks and messages here serve all types.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/source.h"

namespace chargpt {

/// The value that an option `key` with this schema takes from `value`; one string becomes a list where the schema takes
/// lists. Error usage, which opens with the line and names key, value and limit, if the schema does not accept it.
nlohmann::json accepted(const nlohmann::json& value, const nlohmann::ordered_json& schema, const std::string& key,
                        const Source& source);

/// A word from the command line as the type of the schema: ".5" is a number, "mlp,norm" a list. A word that is not of
/// the type stays a string.
nlohmann::json typed(const std::string& word, const nlohmann::ordered_json& schema);

/// "1 to 1000", "at least 0", "layernorm|rmsnorm|none", "true|false"; empty if any value of the type will do.
std::string range_text(const nlohmann::ordered_json& schema);

}  // namespace chargpt
