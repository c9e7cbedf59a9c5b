// A small text inside the program, data/sample.txt: for whoever has the program but no text. Knows no file.
#pragma once

#include <string_view>

namespace chargpt {

/// What data.text calls it by; a file of that name is "./builtin:sample".
inline constexpr std::string_view sample_text_name = "builtin:sample";

/// The text; compiled in by scripts/cmake/EmbedText.cmake.
std::string_view sample_text();

}  // namespace chargpt
