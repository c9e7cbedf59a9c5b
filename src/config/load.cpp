#include "config/load.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "config/accept.h"
#include "config/describe.h"
#include "config/refused.h"

namespace chargpt {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> origin_words = {"default", "preset", "file", "option", "program"};

[[noreturn]] void reject(const std::string& place, const std::string& what) {
  throw Error(ExitCode::usage, place, ": ", what);
}

/// The value of an option from one layer.
struct Setting {
  Json value;
  Origin origin;
};
/// The settings of one document, or of all overrides together, by key: "train.seed".
using Layer = std::map<std::string, Setting>;

void check_object(const Json& value, const std::string& key, const Source& source) {
  if (!value.is_object()) reject(source.place(key), key + " = " + shown(value) + " is not an object of options");
}

std::string accepted_name(const Json& value, const Source& source) {
  const std::string said = "name = " + shown(value), name = value.is_string() ? value.get<std::string>() : "";
  const bool climbs = ("/" + name + "/").find("/../") != std::string::npos || name.starts_with("/");
  if (climbs || name.empty() || name.size() > max_name_bytes || printable(name, 4 * max_name_bytes) != name)
    reject(source.place("name"), said + " cannot name a folder; it takes 1 to " + std::to_string(max_name_bytes) +
                                     " bytes without \"..\", a leading \"/\" and control characters");
  return name;
}

/// If `layer` limits the run's length, resets inherited limits to 0. max_iters = 0 counts as a limit; for max_seconds
/// and max_epochs, 0 means no limit.
void lift_inherited_length(const Layer& layer, ResolvedConfig& resolved) {
  constexpr std::array limits = {"train.max_iters", "train.max_seconds", "train.max_epochs"};
  const auto is_set = [&](const char* key) { return find_option(key)->get(resolved.config) != 0; };
  const auto sets = [&](const char* key) { return layer.contains(key) && (key == limits[0] || is_set(key)); };
  const auto setter = std::ranges::find_if(limits, sets);
  if (setter == limits.end()) return;
  for (const char* key : limits) {
    if (layer.contains(key) || !is_set(key)) continue;
    find_option(key)->set(resolved.config, 0);
    resolved.origin[key] = resolved.origin[*setter];
  }
}

/// Sets each option of the layer. `states_all`: the layer is a run's own config.json, which also states inherited
/// values.
void apply(const Layer& layer, bool states_all, ResolvedConfig& resolved) {
  for (const auto& [key, setting] : layer) {
    find_option(key)->set(resolved.config, setting.value);
    resolved.origin[key] = setting.origin;
    if (!states_all) resolved.given.insert(key);
  }
  lift_inherited_length(layer, resolved);
  const char* decay = "train.lr_decay_iters";
  const TrainConfig& train = resolved.config.train;
  if (!states_all && layer.contains(decay) && train.lr_decay_iters > 0 && train.max_seconds > 0)
    throw unused_option(resolved, decay, "train.max_seconds decides when the decay ends");
}

/// Restores origins from a run's config.json, which has the origin of each option.
void restore_origins(const Json& origins, const Layer& layer, const Source& source, ResolvedConfig& resolved) {
  check_object(origins, "origin", source);
  for (const auto& [key, value] : origins.items()) {
    const auto origin = value.is_string() ? stored_origin(value.get<std::string>()) : std::nullopt;
    const std::string said = "origin." + printable(key);
    if (!origin || !resolved.origin.contains(key))
      reject(source.place(said), said + " = " + shown(value) + " is not an origin such as \"preset default\"");
    if (layer.contains(key)) resolved.origin[key] = *origin;
  }
}

Layer layer_of(const Json& root, const ConfigText& document) {
  Layer layer;
  for (const auto& [section, options] : root.items()) {
    if (section == "extends" || section == "name" || section == "origin" || section == "$schema") continue;
    if (std::ranges::find(option_table(), section, &OptionInfo::section) == option_table().end())
      reject_unknown(document.source.place(printable(section)), section, options);
    check_object(options, section, document.source);
    for (const auto& [name, value] : options.items()) {
      const std::string key = section + "." + name, place = document.source.place(section + "." + printable(name));
      const OptionInfo* option = find_option(key);
      if (option == nullptr || option->key() != key) reject_unknown(place, key, value);
      const Origin origin =
          document.is_preset ? Origin{Origin::By::preset, document.name} : Origin{Origin::By::file, place};
      layer[key] = {accepted(value, option->schema(), key, document.source), origin};
    }
  }
  return layer;
}

/// Applies the documents that this one extends, then this one. `depth`: how many documents extend this one.
void add_document(ConfigText document, int depth, ResolvedConfig& resolved) {
  constexpr int max_chain = 32;
  Source& source = document.source;
  const Json root = read_json(document.text, source);
  if (!root.is_object()) reject(source.label, "a config is an object { ... }, not " + shown(root));
  if (const auto extends = root.find("extends"); extends != root.end()) {
    if (!document.folder)
      reject(source.place("extends"), "the config of a run must be complete, and this one extends " + shown(*extends));
    if (depth == max_chain)
      reject(source.place("extends"), line_of("extends = ", shown(*extends), " makes a chain of more than ", max_chain,
                                              " files; does it lead back to itself?"));
    add_document(extended_document(document, *extends), depth + 1, resolved);
  }
  const auto name = root.find("name");
  resolved.config.name = name == root.end() ? document.name : accepted_name(*name, source);
  resolved.given.clear();
  const Layer layer = layer_of(root, document);
  apply(layer, root.contains("origin"), resolved);
  if (root.contains("origin")) restore_origins(root["origin"], layer, source, resolved);
}

/// Parses the value as JSON if it starts like a string or (for options other than strings) like a list or object; else
/// as a word.
Json override_value(const std::string& given, const nlohmann::ordered_json& schema, Source source) {
  const bool is_string = schema.value("type", "") == "string";
  return given.find_first_of(is_string ? "\"" : "\"[{") == 0 ? read_json(given, source) : typed(given, schema);
}

void add_overrides(std::span<const Override> overrides, ResolvedConfig& resolved) {
  Layer layer;
  for (const auto& [asked, given, spelled_flag] : overrides) {
    const Source source{spelled_flag.empty() ? "--set" : printable(spelled_flag), false};
    const OptionInfo* option = find_option(asked);
    if (option == nullptr) reject_unknown(source.label, asked, override_value(given, {{"type", "number"}}, source));
    const nlohmann::ordered_json schema = option->schema();
    const Json value = override_value(given, schema, source);
    const std::string key = option->key();
    if (const auto first = layer.find(key); first != layer.end())
      throw Error(ExitCode::usage, key, " is given twice, by ", first->second.origin.where, " (",
                  shown(first->second.value), ") and by ", source.label, " (", shown(value), "); give it once");
    layer[key] = {accepted(value, schema, key, source), {Origin::By::option, source.label}};
  }
  apply(layer, /*states_all=*/false, resolved);
}

/// Rejects options that contradict each other for every model and text.
void check(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  const DataConfig& data = resolved.config.data;
  const auto said = [&](const char* key, double value) {
    return line_of(key, " = ", spelled(value), " (", origin_of(resolved, key).text(), ")");
  };
  if (train.lr_schedule != LrSchedule::constant && train.min_lr > train.learning_rate)
    throw Error(ExitCode::usage, said("train.min_lr", train.min_lr), " is above ",
                said("train.learning_rate", train.learning_rate),
                ", so the rate would rise; a tenth of train.learning_rate is usual");
  if (data.test_fraction > 0 && data.val_fraction + data.test_fraction >= 1)
    throw Error(ExitCode::usage, said("data.val_fraction", data.val_fraction), " and ",
                said("data.test_fraction", data.test_fraction),
                " leave nothing to train on; their sum must be below 1, and 0.1 each is usual");
}

ResolvedConfig resolve(const ConfigText& document, std::span<const Override> overrides) {
  ResolvedConfig resolved;
  for (const OptionInfo& option : option_table()) resolved.origin[option.key()] = {};
  add_document(document, /*depth=*/1, resolved);
  add_overrides(overrides, resolved);
  check(resolved);
  return resolved;
}

}  // namespace

std::string Origin::stored() const {
  return std::string(origin_words[static_cast<std::size_t>(by)]) + (where.empty() ? "" : " " + where);
}

std::string Origin::text() const {
  return by == By::standard || by == By::preset ? stored() : where;
}

std::optional<Origin> stored_origin(std::string_view stored) {
  constexpr std::size_t most_bytes = 500;
  const std::size_t space = std::min(stored.find(' '), stored.size());
  const auto word = std::ranges::find(origin_words, stored.substr(0, space));
  const auto by = static_cast<Origin::By>(word - origin_words.begin());
  if (word == origin_words.end() || (by == Origin::By::standard) != (space == stored.size())) return std::nullopt;
  return Origin{by, space == stored.size() ? "" : printable(stored.substr(space + 1), most_bytes)};
}

Origin origin_of(const ResolvedConfig& resolved, const std::string& option) {
  const auto found = resolved.origin.find(option);
  return found == resolved.origin.end() ? Origin{} : found->second;
}

Error with_origin(const Error& error, const ResolvedConfig& resolved) {
  constexpr const char* of_keys = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  const std::string line = error.what();
  for (std::size_t at = line.find_first_of(of_keys); at < line.size(); at = line.find_first_of(of_keys, at)) {
    const std::size_t end = std::min(line.find_first_not_of(of_keys, at), line.size());
    const Origin origin = origin_of(resolved, line.substr(at, end - at));
    if (origin.by != Origin::By::standard)
      return line.starts_with(origin.text()) ? error : Error(error.code(), origin.text(), ": ", line);
    at = end;
  }
  return error;
}

ResolvedConfig load_config(const std::string& name_or_path, std::span<const Override> overrides) {
  return resolve(named_document(name_or_path), overrides);
}

ResolvedConfig parse_config(std::string_view text, const std::string& source,
                            const std::optional<std::filesystem::path>& folder, std::span<const Override> overrides) {
  return resolve({{printable_path(source)}, std::string(text), /*is_preset=*/false, folder, name_of_file(source)},
                 overrides);
}

nlohmann::ordered_json to_json(const ResolvedConfig& resolved) {
  nlohmann::ordered_json out = to_json(resolved.config);
  for (const auto& [key, origin] : resolved.origin) out["origin"][key] = origin.stored();
  return out;
}

void apply_overrides(ResolvedConfig& resolved, std::span<const Override> overrides) {
  ResolvedConfig changed = resolved;
  add_overrides(overrides, changed);
  check(changed);
  resolved = std::move(changed);
}

}  // namespace chargpt
