#include "config/describe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/quote.h"
#include "config/kinds.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json value_json(const T& member) {
  return member;
}
/// Null where it is not set.
Json value_json(const OptionalNumber& member) {
  return member ? Json(*member) : Json();
}
template <class E>
requires std::is_enum_v<E> Json value_json(const E& member) {
  return std::string(enum_name(member));
}
Json value_json(const Places& places) {
  Json list = Json::array();
  for (const Place place : places) list.push_back(value_json(place));
  return list;
}
template <class Section>
Json section_json(const Section& section);
Json value_json(const Groups& groups) {
  Json list = Json::array();
  for (const GroupConfig& group : groups) list.push_back(section_json(group));
  return list;
}

template <class Section>
Json section_json(const Section& section) {
  Json object = Json::object();
  Section::visit(section, [&](const char* name, const auto& member, const Range&, const auto&...) {
    if (const Json value = value_json(member); !value.is_null()) object[name] = value;
  });
  return object;
}

/// Whole numbers as integers, so that the schema reads `1`, not `1.0`.
Json limit_json(double limit) {
  constexpr double exact = 9007199254740992.0;
  if (limit == std::floor(limit) && std::abs(limit) <= exact) return static_cast<std::int64_t>(limit);
  return limit;
}

/// Of a number, or of each in a list.
void add_limits(Json& schema, const Range& range) {
  if (std::isfinite(range.min)) schema[range.above ? "exclusiveMinimum" : "minimum"] = limit_json(range.min);
  if (std::isfinite(range.max)) schema["maximum"] = limit_json(range.max);
}

template <class Section>
Json section_schema(const Section& section);

template <class T>
Json type_schema(const T& member) {
  return {{"type", type_name(member)}};
}
template <class E>
requires std::is_enum_v<E> Json type_schema(const E&) {
  return {{"enum", spellings<E>()}};
}
Json type_schema(const Strings&) {
  const Json list = {{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}};
  return {{"anyOf", Json::array({Json{{"type", "string"}, {"minLength", 1}}, list})}};
}
Json type_schema(const Places&) {
  return {{"type", "array"}, {"items", type_schema(Place{})}, {"uniqueItems", true}};
}
Json type_schema(const Groups&) {
  Json group = section_schema(GroupConfig{});
  group["required"] = {"match"};
  return {{"type", "array"}, {"items", group}};
}

template <class Section>
Json section_schema(const Section& section) {
  Json properties = Json::object();
  Section::visit(
      section, [&](const char* name, const auto& member, const Range& range, const char* help, const char* needs) {
        Json option = type_schema(member);
        if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Strings>)
          option["anyOf"][1]["minItems"] = limit_json(std::max(0.0, range.min));
        else
          add_limits(option.value("type", "") == "array" && option.contains("items") ? option["items"] : option, range);
        if (const Json value = value_json(member); !value.is_null()) option["default"] = value;
        option["description"] = help + (*needs == 0 ? "" : std::string(" (needs ") + needs + ")");
        properties[name] = option;
      });
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

}  // namespace

nlohmann::ordered_json to_json(const Config& config) {
  Json out = {{"name", config.name}};
  Config::visit(config, [&](const char* name, const auto& section) { out[name] = section_json(section); });
  return out;
}

nlohmann::ordered_json to_json(const ResolvedConfig& resolved) {
  Json out = to_json(resolved.config);
  out["origin"] = resolved.origin;
  return out;
}

nlohmann::ordered_json config_schema() {
  Json properties;
  properties["$schema"] = {{"type", "string"},
                           {"description", "where an editor finds this schema; means nothing here"}};
  properties["extends"] = {{"type", "string"},
                           {"minLength", 1},
                           {"description", "a config file beside this one, or a preset; values in this file win"}};
  properties["name"] = {{"type", "string"},
                        {"minLength", 1},
                        {"maxLength", 100},
                        {"description", "the run's name; if left out, that of the file"}};
  const Config defaults;
  Config::visit(defaults, [&](const char* name, const auto& section) { properties[name] = section_schema(section); });
  properties["origin"] = {{"type", "object"},
                          {"additionalProperties", {{"type", "string"}}},
                          {"description", "written by runs: where each value came from"}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "chargpt config"},
          {"type", "object"},
          {"additionalProperties", false},
          {"properties", properties}};
}

std::vector<DifferingOption> differing_options(const std::vector<Config>& configs, const std::string& section) {
  std::vector<Json> all;
  for (const Config& config : configs) all.push_back(to_json(config));
  std::vector<DifferingOption> found;
  if (all.empty()) return found;
  for (const auto& [name, options] : all[0].items()) {
    if (!options.is_object() || (!section.empty() && name != section)) continue;
    for (const auto& [key, value] : options.items()) {
      DifferingOption option{.key = line_of(name, ".", key), .values = {}};
      for (const auto& one : all) option.values.push_back(one.at(name).at(key).dump());
      const bool same = std::ranges::all_of(option.values, [&](const auto& text) { return text == option.values[0]; });
      if (!same) found.push_back(std::move(option));
    }
  }
  return found;
}

std::vector<std::string> changed_options(const Config& then, const Config& now, const std::string& section) {
  std::vector<std::string> lines;
  for (const DifferingOption& option : differing_options({then, now}, section))
    lines.push_back(line_of(option.key, " ", option.values[0], " -> ", option.values[1]));
  return lines;
}

void leave_out(std::vector<std::string>& changes, std::initializer_list<std::string_view> options) {
  std::erase_if(changes, [options](const std::string& line) {
    return std::ranges::any_of(options, [&line](std::string_view option) {
      return line.starts_with(option) && (option.ends_with('.') || line[option.size()] == ' ');
    });
  });
}

std::vector<OptionInfo> option_table() {
  std::vector<OptionInfo> rows;
  const Config defaults;
  Config::visit(defaults, [&](const char* section_name, const auto& section) {
    section.visit(section,
                  [&](const char* name, const auto& member, const Range& range, const char* help, const char* needs) {
                    rows.push_back({section_name, name, type_name(member), allowed_text(member, range), help, needs});
                  });
  });
  return rows;
}

NamedOption named_option(std::string key) {
  std::ranges::replace(key, '-', '_');
  NamedOption found;
  if (const std::size_t dot = key.find('.'); dot != std::string::npos) {
    found.section = key.substr(0, dot);
    key.erase(0, dot + 1);
  }
  for (const OptionInfo& option : option_table())
    if (option.name == key && (found.section.empty() || option.section == found.section))
      found.holders.push_back(option.section);
  found.name = std::move(key);
  return found;
}

}  // namespace chargpt
