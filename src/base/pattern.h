// Regular expressions from configs and flags, which are safe to search with whatever they contain.
#pragma once

#include <regex>
#include <string>

namespace chargpt {

/// Compiles `pattern` (ECMAScript syntax without back-references) so that a search takes polynomial time: the library's
/// default search tries every way to match, and "(.*)*x" would take years. Error usage, which begins with `what`
/// ("train.groups[0].match"), if the pattern is empty, longer than 200 bytes or invalid.
std::regex compile_pattern(const std::string& pattern, const std::string& what);

}  // namespace chargpt
