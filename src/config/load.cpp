#include "config/load.h"
#include "config/describe.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/quote.h"
#include "config/document.h"
#include "config/kinds.h"
#include "config/refused.h"
#include "config/source.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;
using Kind = Value::Kind;

[[noreturn]] void reject(const std::string& place, const std::string& what) {
  throw Error(ExitCode::usage, place, ": ", what);
}

/// Puts layers of settings over the defaults, later ones on top, and remembers where each value came from.
class Layers {
 public:
  explicit Layers(ResolvedConfig& resolved) : resolved_(resolved) {}

  void add(const Document& document);
  void add(std::span<const Override> overrides);

 private:
  void add_section(const Document& document, const std::string& section, const Value& object);
  void restore_origin(const Document& document, const Value& object);
  void add_override(const Override& setting);
  /// Error usage if another override has already set the option.
  void say_once(const std::string& option, const Override& setting);
  void set_name(const Value& value, const std::string& place);
  /// The limits among max_iters, max_epochs and max_seconds that this layer sets clear those that it does not.
  void settle_length();

  ResolvedConfig& resolved_;                 ///< `given`: by the outermost document and the overrides
  std::vector<std::string> open_;            ///< identities of documents that extend one another
  std::set<std::string> given_;              ///< options set by the current layer
  std::map<std::string, std::string> said_;  ///< those of overrides, as the user spelled them
};

void Layers::add(const Document& document) {
  constexpr std::size_t max_chain = 32;
  const Value root = read_json(document.text, document.source, document.most_bytes);
  if (root.kind != Kind::object)
    reject(document.source.place(root.line), "a config is an object { ... }, not " + kind_name(root));
  open_.push_back(document.identity);
  if (const Value* extends = root.find("extends")) {
    const Document base = extended_document(document, *extends);
    const std::string said = document.source.place(extends->line) + ": extends = " + shown(*extends);
    if (std::find(open_.begin(), open_.end(), base.identity) != open_.end())
      throw Error(ExitCode::usage, said, " leads back to ", base.source.label, ", which is already being read");
    if (open_.size() == max_chain)
      throw Error(ExitCode::usage, said, " makes a chain of more than ", max_chain, " files, the limit");
    add(base);
  }
  given_.clear();
  resolved_.config.name = document.name;
  for (const auto& [key, value] : root.members) {
    const std::string place = document.source.place(value.line);
    if (key == "extends" || key == "origin" || key == "$schema") continue;
    if (key == "name")
      set_name(value, place);
    else if (std::find(section_names().begin(), section_names().end(), key) == section_names().end())
      reject_unknown_at_top(place, key, value);
    else
      add_section(document, key, value);
  }
  settle_length();
  resolved_.given = root.find("origin") == nullptr ? given_ : std::set<std::string>();
  if (const Value* origin = root.find("origin")) restore_origin(document, *origin);
  open_.pop_back();
}

void Layers::add_section(const Document& document, const std::string& section, const Value& object) {
  if (object.kind != Kind::object)
    reject(document.source.place(object.line),
           section + " = " + shown(object) + " is " + kind_name(object) + "; it takes an object of options");
  for (const auto& [key, value] : object.members) {
    const std::string place = document.source.place(value.line);
    if (!assign_option(resolved_.config, section, key, value, place, document.source))
      reject_unknown(place, section, key, value);
    const std::string full = section + "." + key;
    resolved_.origin[full] = document.is_preset ? document.source.label : place;
    given_.insert(full);
  }
}

void Layers::restore_origin(const Document& document, const Value& object) {
  if (object.kind != Kind::object)
    reject(document.source.place(object.line), "origin is " + kind_name(object) + "; it takes an object of strings");
  for (const auto& [key, value] : object.members) {
    const std::string place = document.source.place(value.line);
    if (value.kind != Kind::string)
      reject(place, "origin." + printable(key) + " is " + kind_name(value) + "; it takes a string");
    if (!resolved_.origin.contains(key)) reject(place, "origin." + printable(key) + " is not the origin of an option");
    if (given_.contains(key)) resolved_.origin[key] = printable(value.text, 500);
  }
}

void Layers::add(std::span<const Override> overrides) {
  given_.clear();
  said_.clear();
  for (const Override& setting : overrides) add_override(setting);
  settle_length();
  resolved_.given.insert(given_.begin(), given_.end());
}

/// A bare word, or JSON if it starts like a string, or, where the option takes no string, like a list or an object.
Value override_value(const Override& setting, bool takes_string, const Source& source) {
  const std::string_view beginnings = takes_string ? "\"" : "\"[{";
  const bool is_json = !setting.value.empty() && beginnings.find(setting.value[0]) != std::string::npos;
  if (is_json) return read_json(setting.value, source);
  return {.kind = Kind::bare, .text = setting.value, .items = {}, .members = {}};
}

void Layers::add_override(const Override& setting) {
  const Source source{setting.flag.empty() ? "--set" : printable(setting.flag), false};
  const auto [section, key, holders] = named_option(setting.key);
  const bool takes_string = setting.key == "name" || (holders.size() == 1 && is_string_option(holders[0], key));
  const Value value = override_value(setting, takes_string, source);
  if (setting.key == "name") {
    say_once(key, setting);
    return set_name(value, source.label);
  }
  if (holders.empty()) reject_unknown(source.label, section, key, value);
  if (holders.size() > 1)
    reject(source.label, key + " is an option of " + joined(holders, " and ") + "; write " + holders[0] + "." + key);
  say_once(holders[0] + "." + key, setting);
  assign_option(resolved_.config, holders[0], key, value, source.label, source);
  resolved_.origin[holders[0] + "." + key] = source.label;
  given_.insert(holders[0] + "." + key);
}

void Layers::say_once(const std::string& option, const Override& setting) {
  const std::string flag = setting.flag.empty() ? "--set" : setting.flag;
  const bool names_key = flag == "--set" || flag == "--vary";  // others are the key's own
  const std::string said = printable(flag + " " + (names_key ? setting.key + "=" : "") + setting.value);
  if (const auto [first, fresh] = said_.emplace(option, said); !fresh)
    throw Error(ExitCode::usage, option, " is given twice, by ", first->second, " and by ", said, "; give it once");
}

void Layers::set_name(const Value& value, const std::string& place) {
  constexpr std::size_t max_bytes = 100;
  const std::string said = "name = " + shown(value);
  if (value.kind != Kind::string && value.kind != Kind::bare)
    reject(place, said + " is " + kind_name(value) + "; it takes a string");
  if (value.text.empty() || value.text.size() > max_bytes)
    reject(place,
           said + " has " + std::to_string(value.text.size()) + " bytes; it takes 1 to " + std::to_string(max_bytes));
  const bool climbs = ("/" + value.text + "/").find("/../") != std::string::npos || value.text.front() == '/';
  if (climbs || printable(value.text, 4 * max_bytes) != value.text)
    reject(place, said + " cannot name a folder; leave out \"..\", a leading \"/\" and control characters");
  resolved_.config.name = value.text;
}

void Layers::settle_length() {
  TrainConfig& train = resolved_.config.train;
  const auto sets = [&](const char* key, double value) { return given_.contains(key) && value > 0; };
  // max_iters = 0 is a length; 0 for the others means no limit.
  const char* setter = given_.contains("train.max_iters")             ? "train.max_iters"
                       : sets("train.max_seconds", train.max_seconds) ? "train.max_seconds"
                       : sets("train.max_epochs", train.max_epochs)   ? "train.max_epochs"
                                                                      : nullptr;
  if (setter == nullptr) return;
  const auto clear = [&](auto& limit, const char* key) {
    if (limit == 0 || given_.contains(key)) return;
    limit = 0;
    resolved_.origin[key] = resolved_.origin[setter];
  };
  clear(train.max_iters, "train.max_iters");
  clear(train.max_epochs, "train.max_epochs");
  clear(train.max_seconds, "train.max_seconds");
}

/// Options that contradict each other whatever the model and the text.
void check(const ResolvedConfig& resolved) {
  const TrainConfig& train = resolved.config.train;
  const DataConfig& data = resolved.config.data;
  const auto said = [&](const char* key, double value) {
    return line_of(key, " = ", spelled(value), " (", origin_of(resolved, key), ")");
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

ResolvedConfig resolve(const Document& document, std::span<const Override> overrides) {
  ResolvedConfig resolved;
  for (const OptionInfo& option : option_table()) resolved.origin[option.key()] = "default";
  Layers layers(resolved);
  layers.add(document);
  layers.add(overrides);
  check(resolved);
  return resolved;
}

/// Where `key` stands in `line` as a whole word; npos if nowhere.
std::size_t find_key(const std::string& line, const std::string& key) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  for (std::size_t at = line.find(key); at != std::string::npos; at = line.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if ((at == 0 || !is_part(line[at - 1])) && (end == line.size() || !is_part(line[end]))) return at;
  }
  return std::string::npos;
}

}  // namespace

std::string origin_of(const ResolvedConfig& resolved, const std::string& option) {
  const auto found = resolved.origin.find(option);
  return found == resolved.origin.end() ? "default" : found->second;
}

Error with_origin(const Error& error, const ResolvedConfig& resolved) {
  const std::string line = error.what();
  std::size_t first = std::string::npos;
  std::string place;
  for (const auto& [key, origin] : resolved.origin) {
    const std::size_t at = find_key(line, key);
    if (origin == "default" || at >= first) continue;
    first = at;
    place = origin;
  }
  return place.empty() || line.starts_with(place) ? error : Error(error.code(), place, ": ", line);
}

ResolvedConfig load_config(const std::string& name_or_path, std::span<const Override> overrides) {
  return resolve(named_document(name_or_path), overrides);
}

ResolvedConfig parse_config(std::string_view text, const std::string& source, const std::filesystem::path& folder,
                            std::span<const Override> overrides) {
  Document document;
  document.source.label = printable_path(source);
  document.text = text;
  document.identity = "text of " + source;
  document.folder = folder;
  document.name = name_of_file(source);
  document.most_bytes = max_kept_config_bytes;
  return resolve(document, overrides);
}

void apply_overrides(ResolvedConfig& resolved, std::span<const Override> overrides) {
  ResolvedConfig changed = resolved;
  Layers(changed).add(overrides);
  check(changed);
  resolved = std::move(changed);
}

}  // namespace chargpt
