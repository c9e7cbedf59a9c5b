// From a file, a preset's name and flags to one resolved config, with the origin of each value; and back to JSON.
// Strict: what is not understood is an Error (usage) naming file, line, key, value, limit and the nearest known key.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace chargpt {

/// One `--set KEY=VALUE` or `--KEY VALUE`. Key: "train.learning_rate", or "learning_rate" where only one section has it
/// (`-` and `_` are the same). Value: as in JSON; a bare word is a string. `flag` is how the user spelled it, for messages.
struct Override {
  std::string key;
  std::string value;
  std::string flag;
};

struct ResolvedConfig {
  Config config;
  /// "train.learning_rate" -> "default" | "preset nanogpt-cpu" | "mine.json:7" | "--learning_rate"; every key is present.
  std::map<std::string, std::string> origin;
};

struct Preset {
  std::string name;  ///< "default", "ladder/bigram"
  std::string json;  ///< the file's text, comments included
};

/// All of configs/**.json, compiled into the program, in order of name.
std::span<const Preset> presets();

/// `name_or_path`: a preset's name, or a path (has a '/' that no preset has, or ends in .json, or exists). Error missing, with the nearest preset, otherwise.
ResolvedConfig load_config(const std::string& name_or_path, std::span<const Override> overrides = {});

/// A config from JSON text; `source` names it in messages and origins. `folder` is where a relative `extends` is looked up.
ResolvedConfig parse_config(std::string_view text, const std::string& source, const std::filesystem::path& folder, std::span<const Override> overrides = {});

/// Applies overrides to an already resolved config (as `resume --set` does) and checks it again.
void apply_overrides(ResolvedConfig& resolved, std::span<const Override> overrides);

nlohmann::ordered_json to_json(const Config& config);
/// JSON Schema (draft 2020-12) of a config file.
nlohmann::ordered_json config_schema();

/// One row per option, for --help, tables and completions.
struct OptionInfo {
  std::string section, name, type, default_value, range, help;
};
std::vector<OptionInfo> option_table();

}  // namespace chargpt
