// Options that a config must not contain: unknown keys (with the intended option, or the equivalent of another
// program's key), and options without effect, because a need declared in config.h is unmet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "config/load.h"

namespace chargpt {

/// nullopt if `needs` is met, else the key of the first unmet condition. `needs`: alternatives joined by " or ", each a
/// list of conditions joined by ", ": "model.norm != none, model.type = gpt|attention or model.qk_norm = true".
std::optional<std::string> unmet_need(const Config& config, std::string_view needs);

/// Whether the command line set the option.
bool is_override(const ResolvedConfig& resolved, const std::string& key);

/// The Error usage "mine.json:7: train.min_lr = 0 has no effect: REASON".
Error unused_option(const ResolvedConfig& resolved, const std::string& key, const std::string& reason);

/// Error usage for the first option of `resolved.given` whose needs are unmet. An override may disable an option of the
/// file without an error.
void refuse_unused_options(const ResolvedConfig& resolved);

/// What to use instead of a key of nanoGPT or another trainer: "use the flag --run DIR"; "" for any other key.
std::string replacement_of(std::string_view foreign_key);

/// Error usage, which begins with `place`, for an unknown option "section.name" or an unknown key outside the sections.
[[noreturn]] void reject_unknown(const std::string& place, const std::string& key, const nlohmann::json& value);

}  // namespace chargpt
