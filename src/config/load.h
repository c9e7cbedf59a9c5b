// From a file, a preset's name and flags to one resolved config, with the origin of each value; and back to JSON.
// Strict: what is not understood is an Error (usage) naming file, line, key, value, limit and the nearest known key.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/config.h"

namespace chargpt {

/// One `--set KEY=VALUE` or `--KEY VALUE`. Key: "train.learning_rate", or "learning_rate" if only one section has it
/// (`-` and `_` are the same), or "name". Value: JSON if it starts with `"`, or, unless the option is a string, with
/// `[` or `{`; else a word of whatever type the option has (`.5` and `mlp,norm` work), so a list of file names is best
/// passed as JSON. `flag` is how the user spelled it, for messages.
struct Override {
  std::string key;
  std::string value;
  std::string flag;
};
/// Each override must set a different option: one given twice is an Error usage that names both values.

struct ResolvedConfig {
  Config config;
  /// "train.learning_rate" -> "default" | "preset nanogpt-cpu" | "mine.json:7" | "--learning_rate"; every key is
  /// present.
  std::map<std::string, std::string> origin;
  /// Keys that overrides or the config file itself set, not what it extends: those that must have an effect (see
  /// refused.h). Of a run's own config only overrides.
  std::set<std::string> given = {};
};

/// Where an option's value comes from, "default" where that is not recorded.
std::string origin_of(const ResolvedConfig& resolved, const std::string& option);

struct Preset {
  std::string name;  ///< "default", "ladder/bigram"
  std::string json;  ///< the file's text, comments included
};

/// All of configs/**.json, compiled into the program, in order of name.
std::span<const Preset> presets();

/// What the presets reached where they were measured: configs/expected.json, compiled into the program, as
/// scripts/measure/presets.py wrote it: {"version","defaults","machines":{name:{…}},"rows":{preset:{"config",
/// "loss","ci95":[low,high],"seconds","params","runs":[…],"date","machine"} or {"config","not_measured"}}}.
std::string_view expected_figures();

/// `name_or_path`: a preset's name, or a path (has a '/' that no preset has, or ends in .json, or exists). Error
/// missing, with the nearest preset, otherwise.
ResolvedConfig load_config(const std::string& name_or_path, std::span<const Override> overrides = {});

/// A config from JSON text; `source` names it in messages and origins. `folder` is where a relative `extends` is looked
/// up.
ResolvedConfig parse_config(std::string_view text, const std::string& source, const std::filesystem::path& folder,
                            std::span<const Override> overrides = {});

/// Applies overrides to an already resolved config (as `resume --set` does) and checks it again.
/// Everywhere, max_iters, max_epochs and max_seconds are limits of one length: those that one layer sets hold together
/// (the shortest ends the run), and the last layer that sets any sets the earlier ones to 0: no limit.
void apply_overrides(ResolvedConfig& resolved, std::span<const Override> overrides);

/// The same error with the place of the first option it names ("model.n_head") that was set anywhere: for checks of
/// options against a model or a text, which know no file. "mine.json:7: model.n_head = 5 does not divide ...".
Error with_origin(const Error& error, const ResolvedConfig& resolved);

}  // namespace chargpt
