// What a config may not say: keys that are not options, with the option that was probably meant or what to use instead
// of another program's key; and options that have no effect, as what config.h declares that they need does not hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/source.h"

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

/// What to use instead of a key of nanoGPT or another trainer: "use the flag --run DIR"; empty for any other key.
std::string replacement_of(std::string_view foreign_key);

/// data, model, train, eval, sample.
const std::vector<std::string>& section_names();

/// Error usage for `section`.`key` = `value`, or plain `key` if section is empty; opens with `place`.
[[noreturn]] void reject_unknown(const std::string& place, const std::string& section, const std::string& key,
                                 const Value& value);

/// The same for a key beside the sections.
[[noreturn]] void reject_unknown_at_top(const std::string& place, const std::string& key, const Value& value);

}  // namespace chargpt
