#include "config/describe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "config/accept.h"
#include "config/load.h"
#include "config/refused.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;
using Given = nlohmann::json;

/// Traits of an option's type: JSON Schema for a range, and conversion to and from JSON. `read` needs a value from
/// accepted(). The primary template serves the types that JSON has.
template <class T>
struct Kind {
  static Json schema(const Range& range) {
    Json json = {{"type", std::is_same_v<T, std::int64_t> ? "integer" : Json(T()).type_name()}};
    if constexpr (!std::is_same_v<T, std::string>) {
      if (std::isfinite(range.min)) json[range.above ? "exclusiveMinimum" : "minimum"] = static_cast<T>(range.min);
      if (std::isfinite(range.max)) json["maximum"] = static_cast<T>(range.max);
    }
    return json;
  }
  static Json write(const T& value) { return value; }
  static T read(const Given& json) { return json.get<T>(); }
};

/// An optional number; JSON null means not set.
template <>
struct Kind<OptionalNumber> : Kind<double> {
  static Json write(const OptionalNumber& value) { return value ? Json(*value) : Json(); }
};

template <class E>
requires std::is_enum_v<E>
struct Kind<E> {
  static Json schema(const Range&) { return {{"enum", enum_names<E>()}}; }
  static Json write(E value) { return enum_name(value); }
  static E read(const Given& json) { return enum_value<E>(json.get_ref<const std::string&>()).value(); }
};

Json described(Json schema, const Json& otherwise, const std::string& help, const std::string& needs) {
  if (!otherwise.is_null()) schema["default"] = otherwise;
  schema["description"] = help + (needs.empty() ? "" : " (needs " + needs + ")");
  return schema;
}

template <>
struct Kind<GroupConfig> {
  static Json schema(const Range&) {
    Json properties;
    GroupConfig::visit([&]<class T>(const char* name, T GroupConfig::*member, const Range& range, const auto&... text) {
      properties[name] = described(Kind<T>::schema(range), Kind<T>::write(GroupConfig().*member), text...);
    });
    properties["match"]["format"] = "regex";
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", {"match"}}};
  }
  static Json write(const GroupConfig& group) {
    Json json;
    GroupConfig::visit([&]<class T>(const char* name, T GroupConfig::*member, const auto&...) {
      if (const Json value = Kind<T>::write(group.*member); !value.is_null()) json[name] = value;
    });
    return json;
  }
  static GroupConfig read(const Given& json) {
    GroupConfig group;
    GroupConfig::visit([&]<class T>(const char* name, T GroupConfig::*member, const auto&...) {
      if (json.contains(name)) group.*member = Kind<T>::read(json[name]);
    });
    return group;
  }
};

/// A list. A list of strings may be given as one string; its range limits the number of items.
template <class T>
struct Kind<std::vector<T>> {
  static Json schema(const Range& range) {
    Json list = {{"type", "array"}, {"items", Kind<T>::schema(range)}};
    if (std::is_enum_v<T>) list["uniqueItems"] = true;
    if (!std::is_same_v<T, std::string>) return list;
    list["items"]["minLength"] = 1;
    list["minItems"] = range.min > 0 ? static_cast<int>(range.min) : 0;
    return {{"anyOf", {list["items"], list}}};
  }
  static Json write(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(Kind<T>::write(value));
    return json;
  }
  static std::vector<T> read(const Given& json) {
    std::vector<T> values;
    for (const Given& item : json) values.push_back(Kind<T>::read(item));
    return values;
  }
};

std::vector<OptionInfo> make_table() {
  std::vector<OptionInfo> rows;
  Config::visit([&]<class Section>(const char* section, Section Config::*part) {
    Section::visit(
        [&]<class T>(const char* name, T Section::*member, const Range& range, const char* help, const char* needs) {
          const Json schema = described(Kind<T>::schema(range), Kind<T>::write(Section().*member), help, needs);
          rows.push_back({section, name, help, needs, range_text(schema), [schema] { return schema; },
                          [=](const Config& config) { return Kind<T>::write(config.*part.*member); },
                          [=](Config& config, const Given& value) { config.*part.*member = Kind<T>::read(value); }});
        });
  });
  return rows;
}

}  // namespace

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> rows = make_table();
  return rows;
}

const OptionInfo* find_option(std::string key) {
  std::ranges::replace(key, '-', '_');
  const auto is_meant = [&](const OptionInfo& option) { return option.name == key || option.key() == key; };
  const auto found = std::ranges::find_if(option_table(), is_meant);
  return found == option_table().end() ? nullptr : &*found;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  Config::visit([&names](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

nlohmann::ordered_json to_json(const Config& config) {
  Json out = {{"name", config.name}};
  for (const OptionInfo& option : option_table()) out[option.section][option.name] = option.get(config);
  return out;
}

nlohmann::ordered_json config_schema() {
  Json schema = Json::parse(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "chargpt config", "type": "object", "additionalProperties": false,
    "properties": {
      "$schema": {"type": "string", "description": "where an editor finds this schema; means nothing here"},
      "extends": {"type": "string", "minLength": 1,
                  "description": "a config file beside this one, or a preset; values in this file win"},
      "name": {"type": "string", "minLength": 1, "maxLength": 0,
               "description": "the run's name; if left out, that of the file"},
      "origin": {"type": "object", "additionalProperties": {"type": "string"},
                 "description": "written by runs: where each value came from"}}})");
  Json& properties = schema["properties"];
  properties["name"]["maxLength"] = max_name_bytes;
  for (const std::string& section : section_names())
    properties[section] = {{"type", "object"}, {"additionalProperties", false}};
  for (const OptionInfo& option : option_table())
    properties[option.section]["properties"][option.name] = option.schema();
  return schema;
}

std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section,
                                               const std::vector<std::string>& except) {
  std::vector<DifferingOption> found;
  for (const OptionInfo& option : option_table()) {
    const auto acts = [&](const Config& config) { return option.needs.empty() || !unmet_need(config, option.needs); };
    const auto is_meant = [&](const std::string& one) { return one == option.section || one == option.key(); };
    if ((!section.empty() && option.section != section) || std::ranges::any_of(except, is_meant)) continue;
    if (std::ranges::none_of(configs, acts)) continue;
    DifferingOption values{option.key(), {}};
    for (const Config& config : configs) values.values.push_back(option.get(config).dump());
    const auto is_other = [&](const std::string& text) { return text != values.values.front(); };
    if (std::ranges::any_of(values.values, is_other)) found.push_back(std::move(values));
  }
  return found;
}

std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section,
                                         const std::vector<std::string>& except) {
  std::vector<std::string> lines;
  for (const DifferingOption& option : differing_options({then, now}, section, except))
    lines.push_back(line_of(option.key, " ", option.values[0], " -> ", option.values[1]));
  return lines;
}

}  // namespace chargpt
