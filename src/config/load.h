// From a file, a preset's name and flags to one resolved config, with the origin of each value; and back to JSON.
// Strict: input that is not understood is an Error (usage) naming file, line, key, value, limit and nearest known key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/config.h"
#include "config/document.h"

namespace chargpt {

/// One `--set KEY=VALUE` or `--KEY VALUE`. Key: "train.learning_rate", or "learning_rate" if only one section has it
/// (`-` and `_` are the same), or "name". Value: JSON if it starts with `"`, or, unless the option is a string, with
/// `[` or `{`; else a word of whatever type the option has (`.5` and `mlp,norm` work), so a list of file names is best
/// passed as JSON. `flag` is how the user spelled it, for messages. Overrides that set one option twice are an Error
/// usage that names both values.
struct Override {
  std::string key;
  std::string value;
  std::string flag;
};

/// Who gave an option its value. The enumerator decides; the text is for people.
struct Origin {
  /// standard: nobody; program: the program chose the value, as for a text that is missing.
  enum class By : std::uint8_t { standard, preset, file, option, program };
  By by = By::standard;
  std::string where = {};  ///< "nanogpt-cpu", "mine.json:7", "--learning_rate", "built in"; empty for standard

  /// "default", "preset nanogpt-cpu", "mine.json:7", "--learning_rate", "built in"
  std::string text() const;
  /// As config.json stores it: "default", "preset nanogpt-cpu", "file mine.json:7", "option --learning_rate".
  std::string stored() const;
  bool operator==(const Origin&) const = default;
};
/// The origin with this stored form; nullopt if none has it.
std::optional<Origin> stored_origin(std::string_view stored);

struct ResolvedConfig {
  Config config;
  /// Of "train.learning_rate" and every other option.
  std::map<std::string, Origin> origin;
  /// Keys that overrides or the config file itself set, not what it extends: those that must have an effect (see
  /// refused.h). Of a run's own config only overrides.
  std::set<std::string> given = {};
};

/// The default origin where that is not recorded.
Origin origin_of(const ResolvedConfig& resolved, const std::string& option);

constexpr std::size_t max_name_bytes = 100;

/// `name_or_path`: a preset's name, or a path (has a '/' that no preset has, or ends in .json, or exists). Error
/// missing, with the nearest preset, otherwise.
ResolvedConfig load_config(const std::string& name_or_path, std::span<const Override> overrides = {});

/// A config from JSON text; `source` names it in messages and origins. `folder` is where a relative `extends` is looked
/// up.
ResolvedConfig parse_config(std::string_view text, const std::string& source, const std::filesystem::path& folder,
                            std::span<const Override> overrides = {});

/// As to_json(resolved.config), with an "origin" object, which parse_config reads back too.
nlohmann::ordered_json to_json(const ResolvedConfig& resolved);

/// Applies overrides to an already resolved config (as `resume --set` does) and checks it again; an Error leaves it as
/// it was. Everywhere, max_iters, max_epochs and max_seconds are limits of one length: those that one layer sets hold
/// together (the shortest ends the run), and the last layer that sets any sets the earlier ones to 0: no limit.
void apply_overrides(ResolvedConfig& resolved, std::span<const Override> overrides);

/// The same error with the place of the first option it names ("model.n_head") that was set anywhere: for checks of
/// options against a model or a text, which have no file. "mine.json:7: model.n_head = 5 does not divide ...".
Error with_origin(const Error& error, const ResolvedConfig& resolved);

}  // namespace chargpt
