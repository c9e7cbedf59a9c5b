#include "config/needs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/names.h"
#include "config/kinds.h"

namespace chargpt {
namespace {

using Json = nlohmann::ordered_json;

const Json& value_at(const Json& values, const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? values.at(key) : values.at(key.substr(0, dot)).at(key.substr(dot + 1));
}

std::string text_of(const Json& value) {
  if (value.is_number_float()) return spelled(value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "model.type = gpt|attention" -> "model.type", "=", {"gpt", "attention"}
struct Condition {
  std::string key, sign;
  std::vector<std::string> values;

  explicit Condition(const std::string& text) {
    const std::vector<std::string> words = split(text, " ");
    key = words.at(0);
    sign = words.at(1);
    values = split(words.at(2), "|");
  }
  bool holds(const Json& all) const {
    const Json& value = value_at(all, key);
    const bool is_one = std::ranges::any_of(values, [&](const std::string& wanted) {
      return value.is_string() && wanted != R"("")" ? value == wanted : value == Json::parse(wanted);
    });
    return is_one == (sign == "=");
  }
};

/// "; model.position = learned (default)"
std::string instead(const ResolvedConfig& resolved, const Json& values, const std::string& key) {
  const auto origin = resolved.origin.find(key);
  return "; " + key + " = " + text_of(value_at(values, key)) +
         (origin == resolved.origin.end() ? "" : " (" + origin->second + ")");
}

void refuse_unused_in_groups(const ResolvedConfig& resolved) {
  Config standard;
  standard.train.groups.emplace_back();
  const Json defaults = to_json(standard)["train"]["groups"][0], groups = to_json(resolved.config)["train"]["groups"];
  GroupConfig::visit(standard.train.groups[0], [&](const std::string& name, const auto&, const Range&, const char*,
                                                   std::string_view needs) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (needs.empty() || groups[i].at(name) == defaults.at(name)) continue;
      const auto unmet = unmet_need(groups[i], needs);
      if (!unmet) continue;
      const std::string place = resolved.origin.at("train.groups");
      throw Error(ExitCode::usage, place, ": train.groups[", i, "].", name, " = ", text_of(groups[i].at(name)),
                  " has no effect: it needs ", needs, instead(resolved, groups[i], *unmet));
    }
  });
}

}  // namespace

std::optional<std::string> unmet_need(const Json& values, std::string_view needs) {
  std::optional<std::string> first;
  for (const std::string& alternative : split(needs, " or ")) {
    std::optional<std::string> unmet;
    for (const std::string& text : split(alternative, ", ")) {
      const Condition condition(text);
      if (!unmet && !condition.holds(values)) unmet = condition.key;
    }
    if (!unmet) return std::nullopt;
    if (!first) first = unmet;
  }
  return first;
}

bool is_override(const ResolvedConfig& resolved, const std::string& key) {
  return resolved.origin.at(key).starts_with("--");
}

Error unused_option(const ResolvedConfig& resolved, const std::string& key, const std::string& reason) {
  const Json all = to_json(resolved.config);
  return {ExitCode::usage,
          resolved.origin.at(key) + ": " + key + " = " + text_of(value_at(all, key)) + " has no effect: " + reason};
}

void refuse_unused_options(const ResolvedConfig& resolved) {
  if (resolved.given.empty()) return;
  const Json values = to_json(resolved.config);
  for (const OptionInfo& option : option_table()) {
    const std::string key = option.key();
    if (option.needs.empty() || !resolved.given.contains(key)) continue;
    const auto unmet = unmet_need(values, option.needs);
    if (unmet && (is_override(resolved, key) || !is_override(resolved, *unmet)))
      throw unused_option(resolved, key, "it needs " + option.needs + instead(resolved, values, *unmet));
  }
  if (resolved.given.contains("train.groups")) refuse_unused_in_groups(resolved);
}

}  // namespace chargpt
