// Regular expressions that people write into configs and flags, safe to search with whatever they hold.
#pragma once

#include <regex>
#include <string>

namespace chargpt {

/// `pattern` (ECMAScript's syntax without back-references) compiled so that a search takes polynomial time: the
/// library's usual search tries every way to match, which "(.*)*x" makes take years. Error usage, a line that opens
/// with `what` ("train.groups[0].match"), where it is empty, longer than 200 bytes or not a regular expression.
std::regex compile_pattern(const std::string& pattern, const std::string& what);

}  // namespace chargpt
