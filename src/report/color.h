// Whether output is coloured: a pure function of the option, the environment and the terminal.
#pragma once

#include <string_view>

namespace chargpt {

/// `flag` is --color's value: "always" and "never" decide; otherwise ("auto") colour goes to a terminal unless the
/// environment's NO_COLOR is set and not empty (no-color.org). `no_color`: its value, nullptr if it is not set.
bool choose_color(std::string_view flag, const char* no_color, bool is_terminal);

}  // namespace chargpt
