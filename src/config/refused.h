// Options that a config must not state: keys that are not options, with the option that was probably meant or what to
// use instead of another program's key; and options that have no effect because a need that config.h declares is unmet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "config/load.h"

namespace chargpt {

/// Null if `needs` is met, else the first of its keys that has another value. `needs`: alternatives joined by " or ",
/// each of conditions joined by ", ": "model.norm != none, model.type = gpt|attention or model.qk_norm = true".
std::optional<std::string> unmet_need(const Config& config, std::string_view needs);

/// Whether the command line set the option.
bool is_override(const ResolvedConfig& resolved, const std::string& key);

/// "mine.json:7: train.min_lr = 0 has no effect: REASON"
Error unused_option(const ResolvedConfig& resolved, const std::string& key, const std::string& reason);

/// Error usage, by name, for the first option of `resolved.given` that has no effect because a need is unmet. Those of
/// a file may lose their effect by an override.
void refuse_unused_options(const ResolvedConfig& resolved);

/// What to use instead of a key of nanoGPT or another trainer: "use the flag --run DIR"; empty for any other key.
std::string replacement_of(std::string_view foreign_key);

/// Error usage for an option "section.name" that does not exist, or a key beside the sections; opens with `place`.
[[noreturn]] void reject_unknown(const std::string& place, const std::string& key, const nlohmann::json& value);

}  // namespace chargpt
