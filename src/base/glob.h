// Patterns for names as a shell reads them: * ? [a-z] [!x], and \ before a character that stands for itself. Knows no
// file.
#pragma once

#include <string>
#include <string_view>

namespace chargpt {

/// Whether `text` has a character that stands for others in a pattern.
bool has_wildcards(std::string_view text);

/// Whether the whole of `name`, without slashes, is what `pattern` describes. A dot at its beginning is matched only by
/// a dot there. Takes time of at most their lengths multiplied.
bool matches_glob(std::string_view pattern, std::string_view name);

/// `pattern` without the \ before characters that stand for themselves.
std::string unescaped_glob(std::string_view pattern);

}  // namespace chargpt
