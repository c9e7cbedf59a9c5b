#include "config/accept.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/pattern.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace chargpt {
namespace {

using Json = nlohmann::json;
using Schema = nlohmann::ordered_json;
using Words = std::vector<std::string>;

Words keys_of(const Schema& object) {
  Words keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// What a schema accepts, in words: "a whole number from 1 to 1000".
std::string words_of(const Schema& schema) {
  if (schema.contains("anyOf")) return "a string or " + words_of(schema["anyOf"][1]);
  if (schema.contains("enum")) return "one of " + joined(schema["enum"], ", ");
  const std::string type = schema["type"], range = range_text(schema);
  if (type == "array" && schema.contains("uniqueItems"))
    return "a list of " + joined(schema["items"]["enum"], ", ") + ", each at most once";
  if (type == "array")
    return line_of("a list of ", schema.value("minItems", 0) > 0 ? "one or more " : "",
                   schema["items"]["type"].get<std::string>(), "s");
  if (type == "object") return "an object with " + joined(keys_of(schema["properties"]), ", ");
  if (type == "boolean") return "true or false";
  return in_range(type == "integer" ? "a whole number" : "a " + type, range);
}

/// Whether type, range, choice and number of items fit the schema. Whole numbers may be written as 1000 or 1e3.
bool fits(const Json& value, const Schema& schema) {
  if (schema.contains("enum"))
    return value.is_string() && std::ranges::count(schema["enum"].get<Words>(), value.get<std::string>()) > 0;
  const std::string type = schema.value("type", "");
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array")
    return value.is_array() && value.size() >= schema.value("minItems", 0U) &&
           (!schema.contains("uniqueItems") || std::set<Json>(value.begin(), value.end()).size() == value.size());
  if (!value.is_number() || type.empty()) return false;
  const double number = value, most = schema.value("maximum", number);
  const bool above_least = schema.contains("exclusiveMinimum") ? number > schema["exclusiveMinimum"]
                                                               : number >= schema.value("minimum", number);
  return above_least && number <= most && (type == "number" || number == std::floor(number));
}

[[noreturn]] void reject(const Json& value, const std::string& key, const Source& source, const std::string& what) {
  throw Error(ExitCode::usage, source.place(key), ": ", key, " = ", shown(value), " ", what);
}

/// Checks one parameter group. `known`: the schemas of a group's options.
Json accepted_group(const Json& value, const Schema& known, const std::string& key, const Source& source) {
  Json group = Json::object();
  for (const auto& [name, item] : value.items()) {
    const std::string part = key + "." + printable(name);
    if (!known.contains(name))
      reject(item, part, source, "is not an option of a group" + did_you_mean(name, keys_of(known)));
    group[name] = accepted(item, known[name], part, source);
  }
  if (!group.contains("match")) reject(value, key, source, "has no match; add one such as \"match\": \"wte|lm_head\"");
  if (group.contains("lr_scale") && group.contains("learning_rate"))
    reject(value, key, source,
           "has both lr_scale and learning_rate; keep one: lr_scale is a multiple of "
           "train.learning_rate, learning_rate does not follow it");
  const Json standard = known["momentum"]["default"], momentum = group.value("momentum", standard);
  if (momentum != standard && group.value("optimizer", "adamw") == "adamw")
    reject(momentum, key + ".momentum", source,
           "has no effect: it needs optimizer = muon|muon_rows; optimizer = adamw");
  return group;
}

}  // namespace

nlohmann::json accepted(const nlohmann::json& value, const nlohmann::ordered_json& schema, const std::string& key,
                        const Source& source) {
  const bool is_choice = schema.contains("enum"), is_either = schema.contains("anyOf");
  const std::string word = value.is_string() ? value.get<std::string>() : "", type = schema.value("type", "");
  if (is_either && value.is_string()) return Json::array({accepted(value, schema["anyOf"][0], key, source)});
  if (is_either && value.is_array()) return accepted(value, schema["anyOf"][1], key, source);
  if (!fits(value, schema))
    reject(value, key, source,
           (type == "integer" || type == "number" ? "must be " : "is not ") + words_of(schema) +
               (is_choice ? did_you_mean(word, schema["enum"].get<Words>()) : ""));
  if (word.find('\0') != std::string::npos) reject(value, key, source, "contains a NUL character");
  if (!is_utf8(word)) reject(value, key, source, "is not UTF-8");  // a command line may contain any bytes
  if (word.size() < schema.value("minLength", 0U)) reject(value, key, source, "is empty");
  if (schema.contains("format")) compile_pattern(word, source.place(key) + ": " + key);
  if (value.is_object()) return accepted_group(value, schema["properties"], key, source);
  if (value.is_number_float() && type == "integer") return static_cast<std::int64_t>(value.get<double>());
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (const Json& item : value)
    list.push_back(accepted(item, schema["items"], line_of(key, "[", list.size(), "]"), source));
  return list;
}

nlohmann::json typed(const std::string& word, const nlohmann::ordered_json& schema) {
  const std::string type = schema.value("type", "");
  if (type == "array" && schema["items"].value("type", "") != "object") {
    Json list = Json::array();
    for (const std::string& item : split(word, ",")) list.push_back(typed(item, schema["items"]));
    return list;
  }
  if (type != "integer" && type != "number" && type != "boolean") return word;
  const Json read = Json::parse(word.starts_with('.') ? "0" + word : word, nullptr, /*allow_exceptions=*/false);
  return (type == "boolean" ? read.is_boolean() : read.is_number()) ? read : Json(word);
}

std::string in_range(const std::string& what, const std::string& range) {
  const char* between = range.starts_with("above") ? " " : range.starts_with("at least") ? ", " : " from ";
  return range.empty() ? what : what + between + range;
}

std::string range_text(const nlohmann::ordered_json& schema) {
  const Schema& one = schema.contains("items") ? schema["items"] : schema;
  if (one.contains("enum")) return joined(one["enum"], "|");
  if (one.value("type", "") == "boolean") return "true|false";
  const std::string most = one.contains("maximum") ? spelled(one["maximum"]) : "";
  if (one.contains("exclusiveMinimum"))
    return "above " + spelled(one["exclusiveMinimum"]) + (most.empty() ? "" : " and at most " + most);
  if (!one.contains("minimum")) return "";
  return most.empty() ? "at least " + spelled(one["minimum"]) : spelled(one["minimum"]) + " to " + most;
}

}  // namespace chargpt
