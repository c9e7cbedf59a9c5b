// The error for an unknown key: it names the option that was probably meant, or what to use instead of another
// program's key.
#pragma once

#include <string>
#include <vector>

#include "config/source.h"

namespace chargpt {

/// data, model, train, eval, sample.
const std::vector<std::string>& section_names();

/// Error usage for `section`.`key` = `value`, or plain `key` if section is empty; opens with `place`.
[[noreturn]] void reject_unknown(const std::string& place, const std::string& section, const std::string& key,
                                 const Value& value);

/// The same for a key beside the sections.
[[noreturn]] void reject_unknown_at_top(const std::string& place, const std::string& key, const Value& value);

}  // namespace chargpt
