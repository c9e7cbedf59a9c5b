// From a value as written to the member of Config that a declaration in config.h names: types, ranges, spellings.
// Knows no option by name and no file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/source.h"

namespace chargpt {

/// Sets config.SECTION.KEY; false if there is no such option. Error usage, opening with `place`, if the value has
/// another type, is out of range or is not one of the choices.
bool assign_option(Config& config, std::string_view section, std::string_view key, const Value& value,
                   const std::string& place, const Source& source);

/// "; did you mean model.n_layer?", with the nearest of `known`, or the empty string.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace chargpt
