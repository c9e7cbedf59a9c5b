// Resolves a file or preset and command-line flags to one config, records the origin of each value, and writes it as
// JSON. Strict: unknown input is an Error usage that names file, line, key, value, limit and the nearest known key.
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

/// One `--set KEY=VALUE` or `--KEY VALUE`. Key: "train.learning_rate"; "learning_rate" if only one section has it (`-`
/// equals `_`). Value: JSON if it starts with `"` or, for options other than strings, with `[` or `{`; any
/// other word is converted to the option's type (`.5` and `mlp,norm` work), so pass lists of file names as JSON.
/// `flag`: the flag as the user typed it, for messages. Two overrides of one option are an Error usage that names both
/// values.
struct Override {
  std::string key;
  std::string value;
  std::string flag;
};

/// Who set an option's value. Code decides by the enumerator; `where` is for people.
struct Origin {
  /// standard: the default holds; program: the program chose the value, for example because a text was missing.
  enum class By : std::uint8_t { standard, preset, file, option, program };
  By by = By::standard;
  std::string where = {};  ///< "nanogpt-cpu", "mine.json:7", "--learning_rate", "built in"; empty for standard

  /// For messages: "default", "preset nanogpt-cpu", "mine.json:7", "--learning_rate", "built in".
  std::string text() const;
  /// For config.json: "default", "preset nanogpt-cpu", "file mine.json:7", "option --learning_rate".
  std::string stored() const;
  bool operator==(const Origin&) const = default;
};
/// Parses what Origin::stored() wrote; nullopt for anything else.
std::optional<Origin> stored_origin(std::string_view stored);

struct ResolvedConfig {
  Config config;
  /// The origin of every option, by key ("train.learning_rate").
  std::map<std::string, Origin> origin;
  /// Keys that an override or the config file itself set, as opposed to files that it extends. These options must have
  /// an effect (see refused.h). A run's own config.json gives none.
  std::set<std::string> given = {};
};

/// The origin of an option; Origin::By::standard if none is recorded.
Origin origin_of(const ResolvedConfig& resolved, const std::string& option);

constexpr std::size_t max_name_bytes = 100;

/// Loads a preset, a run's config or a file, found as by named_document(), and applies the overrides. Errors as
/// named_document; usage for invalid content.
ResolvedConfig load_config(const std::string& name_or_path, std::span<const Override> overrides = {});

/// Parses a config from JSON text. `source`: its name in messages and origins. `folder`: where a relative `extends`
/// starts; nullopt: the text must be complete, as a run's config is. Errors: usage; as extended_document.
ResolvedConfig parse_config(std::string_view text, const std::string& source,
                            const std::optional<std::filesystem::path>& folder = std::nullopt,
                            std::span<const Override> overrides = {});

/// to_json(resolved.config) plus an "origin" object. parse_config() reads both back.
nlohmann::ordered_json to_json(const ResolvedConfig& resolved);

/// Applies overrides to a resolved config (as `resume --set` does) and checks it again; after an Error, `resolved` is
/// unchanged. max_iters, max_epochs and max_seconds all limit a run's length. Limits from the same file or command line
/// apply together, and the shortest ends the run; they also reset to 0 (no limit) those that were set before.
void apply_overrides(ResolvedConfig& resolved, std::span<const Override> overrides);

/// Prefixes an error with the origin of the first option in it that was set; without one, returns it unchanged. For
/// checks against a model or text, which know no file: "mine.json:7: model.n_head = 5 does not divide ...".
Error with_origin(const Error& error, const ResolvedConfig& resolved);

}  // namespace chargpt
