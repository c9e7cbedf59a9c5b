// Text on a terminal: whether it is coloured and may be more than ASCII, the columns it takes, foreign text, which is
// shown as it is but never obeyed, and text broken between words to fit. Pure functions of text, options and
// environment, independent of any terminal's state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// `flag` is --color's value: "always" and "never" decide; otherwise ("auto") colour goes to a terminal unless the
/// environment's NO_COLOR is set and not empty (no-color.org). `no_color`: its value, nullptr if it is not set.
bool choose_color(std::string_view flag, const char* no_color, bool is_terminal);

/// Whether the value of TERM, null if it is not set, is that of a terminal that obeys no escape sequence.
bool is_dumb(const char* term);

/// `code` is that of an ANSI escape: "36"; empty: `text` as it is.
std::string colored(const std::string& text, std::string_view code);

/// Columns of a terminal: the columns_of() its characters (base/characters.h), and 1 for a byte that is not
/// UTF-8.
std::size_t display_width(std::string_view text);

/// The longest prefix of `text` that fits into `columns`.
std::string_view first_columns(std::string_view text, std::size_t columns);

/// `text` with control characters (except \n and \t), bytes that are not UTF-8 as \x1b, and C1 controls, line
/// separators and direction overrides as \u202e, so that a text can neither move the cursor nor retitle the window nor
/// disguise its order. A symbol cut by the end of `text` counts as bytes that are not UTF-8.
std::string escape_for_terminal(std::string_view text);
/// The same as one line: \n too.
std::string line_for_terminal(std::string_view text);

/// Text between tags of HTML or SVG, escaped as for a terminal: nothing in it is markup.
std::string text_in_markup(std::string_view text);

std::string without_end_spaces(std::string text);

/// Cut after each character that is one of `ends`: "[relu|gelu]" as "[relu|" and "gelu]".
std::vector<std::string> cut_after(std::string_view text, std::string_view ends);

/// One paragraph in lines of at most `width` columns (0: one line), each after the first indented; the first begins at
/// column `indent`, where something else stands before it. Ends with a newline. A command (chargpt resume RUN --threads
/// 2, or what stands in `...`) is never broken, another word wider than a line only behind '|' and ','.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

/// `text` as it is where it fits into `width` columns from column `indent` on (0: always), else wrapped(); without a
/// newline at its end.
std::string fitted(const std::string& text, std::size_t indent, std::size_t width);

/// The same of every line of `text` by itself, which keeps its line end and its indentation.
std::string wrapped_lines(const std::string& text, std::size_t width);

}  // namespace chargpt
