// Whether output is coloured, and whether it may hold more than ASCII: pure functions of the option, the environment
// and the terminal.
#pragma once

#include <string_view>

namespace chargpt {

/// `flag` is --color's value: "always" and "never" decide; otherwise ("auto") colour goes to a terminal unless the
/// environment's NO_COLOR is set and not empty (no-color.org). `no_color`: its value, nullptr if it is not set.
bool choose_color(std::string_view flag, const char* no_color, bool is_terminal);

/// Whether the value of TERM, null if it is not set, is that of a terminal that obeys no escape sequence.
bool is_dumb(const char* term);

/// Whether a terminal of this locale shows UTF-8: the first of the three environment variables that is set and not
/// empty says so, null standing for one that is not set (POSIX, "Internationalization Variables").
bool names_utf8(const char* lc_all, const char* lc_ctype, const char* lang);

}  // namespace chargpt
