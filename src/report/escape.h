// Foreign text on a terminal and between tags: shown as it is, but never obeyed.
#pragma once

#include <string>
#include <string_view>

namespace chargpt {

/// `text` with control characters (except \n and \t), bytes that are not UTF-8 as \x1b, and C1 controls, line
/// separators and direction overrides as \u202e, so that a text can neither move the cursor nor retitle the window nor
/// disguise its order. A symbol cut by the end of `text` counts as bytes that are not UTF-8.
std::string escape_for_terminal(std::string_view text);

/// Text between tags of HTML or SVG: nothing in it is markup.
std::string text_in_markup(std::string_view text);

}  // namespace chargpt
