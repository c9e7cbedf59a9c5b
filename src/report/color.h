// Whether output is coloured: a pure function of what the user, the environment and the terminal say.
#pragma once

#include <string_view>

namespace chargpt {

/// `flag` is --color's value: "always" and "never" decide; otherwise ("auto") colour goes to a terminal unless the
/// environment's NO_COLOR is there and not empty (no-color.org). `no_color`: its value, nullptr where it is not set.
bool choose_color(std::string_view flag, const char* no_color, bool is_terminal);

}  // namespace chargpt
