#include "config/accept.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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

/// "a whole number, 1 to 1000"
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
  const std::string what = type == "integer" ? "a whole number" : type == "boolean" ? "true or false" : "a " + type;
  return range.empty() || type == "boolean" ? what : what + ", " + range;
}

/// An option and its value.
struct Entry {
  const Json& value;
  const std::string& key;  ///< "model.n_head", "train.groups[0].match"
  const Source& source;

  [[noreturn]] void reject(const std::string& what) const {
    throw Error(ExitCode::usage, source.place(key), ": ", key, " = ", shown(value), " ", what);
  }
  Json number(const Schema& schema) const;
  Json text(const Schema& schema) const;
  Json list(const Schema& schema) const;
  Json object(const Schema& schema) const;
};

/// Whole numbers may be 1000 or 1e3.
Json Entry::number(const Schema& schema) const {
  const double number = value.get<double>();
  const bool is_whole = schema["type"] == "integer";
  if (number < schema.value("minimum", number) || number > schema.value("maximum", number) ||
      (is_whole && number != std::floor(number)) ||
      (schema.contains("exclusiveMinimum") && number <= schema["exclusiveMinimum"]))
    reject("is not " + words_of(schema));
  if (is_whole && std::abs(number) > 9e18) reject("does not fit into 64 bits");
  return is_whole && value.is_number_float() ? Json(static_cast<std::int64_t>(number)) : value;
}

Json Entry::text(const Schema& schema) const {
  const std::string& text = value.get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) reject("contains a NUL character");
  if (!is_utf8(text)) reject("is not UTF-8");  // a word from the command line may have any bytes
  if (text.size() < schema.value("minLength", 0U)) reject("is empty");
  if (schema.value("format", "") == "regex") compile_pattern(text, source.place(key) + ": " + key);
  return value;
}

Json Entry::list(const Schema& schema) const {
  Json list = Json::array();
  for (const Json& item : value)
    list.push_back(accepted(item, schema["items"], line_of(key, "[", list.size(), "]"), source));
  const bool repeats = schema.contains("uniqueItems") &&
                       std::ranges::any_of(list, [&](const Json& item) { return std::ranges::count(list, item) > 1; });
  if (repeats || list.size() < schema.value("minItems", 0U)) reject("is not " + words_of(schema));
  return list;
}

/// A group of parameters.
Json Entry::object(const Schema& schema) const {
  Json object = Json::object();
  const Schema& known = schema["properties"];
  for (const auto& [name, item] : value.items()) {
    const std::string part = key + "." + printable(name);
    if (!known.contains(name))
      Entry{item, part, source}.reject("is not an option of a group" + did_you_mean(name, keys_of(known)));
    object[name] = accepted(item, known[name], part, source);
  }
  if (!object.contains("match")) reject("has no match; add one such as \"match\": \"wte|lm_head\"");
  if (object.contains("lr_scale") && object.contains("learning_rate"))
    reject(
        "has both lr_scale and learning_rate; keep one: lr_scale is a multiple of train.learning_rate, "
        "learning_rate does not follow it");
  const Json momentum = object.value("momentum", Json(known["momentum"]["default"]));
  if (momentum != Json(known["momentum"]["default"]) && object.value("optimizer", "adamw") != "muon")
    Entry{momentum, key + ".momentum", source}.reject("has no effect: it needs optimizer = muon; optimizer = adamw");
  return object;
}

}  // namespace

nlohmann::json accepted(const nlohmann::json& value, const nlohmann::ordered_json& schema, const std::string& key,
                        const Source& source) {
  const Entry entry{value, key, source};
  if (schema.contains("anyOf") && value.is_string()) return Json::array({entry.text(schema["anyOf"][0])});
  if (schema.contains("anyOf") && value.is_array()) return entry.list(schema["anyOf"][1]);
  if (schema.contains("enum")) {
    const Words words = schema["enum"];
    const std::string word = value.is_string() ? value.get<std::string>() : "";
    if (std::ranges::count(words, word) > 0) return word;
    entry.reject("is not " + words_of(schema) + did_you_mean(word, words));
  }
  const std::string type = schema.value("type", "");
  if (type == "boolean" && value.is_boolean()) return value;
  if (type == "string" && value.is_string()) return entry.text(schema);
  if (type == "array" && value.is_array()) return entry.list(schema);
  if (type == "object" && value.is_object()) return entry.object(schema);
  if ((type == "integer" || type == "number") && value.is_number()) return entry.number(schema);
  entry.reject("is not " + words_of(schema));
}

nlohmann::json typed(const std::string& word, const nlohmann::ordered_json& schema) {
  const std::string type = schema.value("type", "");
  if (type == "array" && schema["items"]["type"] != "object") {
    Json list = Json::array();
    for (const std::string& item : split(word, ",")) list.push_back(typed(item, schema["items"]));
    return list;
  }
  const Json read = Json::parse(word.starts_with('.') ? "0" + word : word, nullptr, /*allow_exceptions=*/false);
  const bool is_number = read.is_number() && (type == "integer" || type == "number");
  return is_number || (read.is_boolean() && type == "boolean") ? read : Json(word);
}

std::string range_text(const nlohmann::ordered_json& schema) {
  const Schema& one = schema.contains("items") ? schema["items"] : schema;
  if (one.contains("enum")) return joined(one["enum"], "|");
  if (one.value("type", "") == "boolean") return "true|false";
  if (one.contains("exclusiveMinimum")) return "above " + spelled(one["exclusiveMinimum"]);
  if (!one.contains("minimum")) return "";
  const std::string least = spelled(one["minimum"]);
  return one.contains("maximum") ? least + " to " + spelled(one["maximum"]) : "at least " + least;
}

}  // namespace chargpt
