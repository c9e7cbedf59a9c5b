// A small text built into the program, data/sample.txt, for users who have no text at hand. Knows no file.
#pragma once

#include <string_view>

namespace chargpt {

/// Its name in data.text; a file of that name is "./builtin:sample".
inline constexpr std::string_view sample_text_name = "builtin:sample";

/// The text; compiled in by scripts/cmake/EmbedText.cmake.
std::string_view sample_text();

}  // namespace chargpt
