// Options that were set and have no effect: what config.h declares that they need does not hold. Knows no option by
// name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "config/load.h"

namespace chargpt {

/// Null if `needs` holds, else the first of its keys that has another value. `needs`: alternatives joined by " or ",
/// each of conditions joined by ", ": "model.norm != none, model.type = gpt|attention or model.qk_norm = true".
/// `values`: an object of sections, or one section for keys without a point.
std::optional<std::string> unmet_need(const nlohmann::ordered_json& values, std::string_view needs);

/// Whether the command line set the option.
bool is_override(const ResolvedConfig& resolved, const std::string& key);

/// "train.min_lr = 0 has no effect: REASON", with where it was set in front unless that is its flag.
Error unused_option(const ResolvedConfig& resolved, const std::string& key, const std::string& reason);

/// Error usage, by name, for the first option of `resolved.given` that has no effect for want of what it needs. Those
/// of a file may lose their effect by an override.
void refuse_unused_options(const ResolvedConfig& resolved);

}  // namespace chargpt
