// Text for terminals: colours, width in columns, escaping of untrusted text (a terminal must not execute its control
// sequences), and wrapping between words. Pure functions of text, options and environment, independent of a terminal's
// state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// Whether to use colour. `flag`: the value of --color; "auto" means a terminal, unless the environment sets NO_COLOR
/// to a non-empty value (no-color.org). `no_color`: that value, or nullptr.
bool choose_color(std::string_view flag, const char* no_color, bool is_terminal);

/// Whether `term`, the value of TERM or nullptr, names a terminal without escape sequences.
bool is_dumb(const char* term);

/// Wraps `text` in the ANSI colour `code` ("36"); returns it unchanged if `code` is empty.
std::string colored(const std::string& text, std::string_view code);

/// Width in terminal columns: the sum of columns_of() (base/characters.h) over its characters, and 1 for each byte that
/// is not UTF-8.
std::size_t display_width(std::string_view text);

/// The longest prefix of `text` that fits into `columns`.
std::string_view first_columns(std::string_view text, std::size_t columns);

/// Escapes control characters (except \n and \t) and bytes that are not UTF-8 as \x1b, and C1 controls, line separators
/// and direction overrides as \u202e. The text then cannot move the cursor, change the window title or hide its order.
/// A symbol cut by the end of `text` counts as bytes that are not UTF-8.
std::string escape_for_terminal(std::string_view text);

/// Escapes `text` for a terminal and for HTML or SVG, so that none of it is markup.
std::string text_in_markup(std::string_view text);

std::string without_end_spaces(std::string text);

/// Cuts `text` after each character in `ends`: "[relu|gelu]" gives "[relu|" and "gelu]".
std::vector<std::string> cut_after(std::string_view text, std::string_view ends);

/// Wraps one paragraph into lines of at most `width` columns; returns it unchanged if it fits (0: always). The first
/// line starts at column `indent`, after other text; the others are indented. Never breaks a command (chargpt resume
/// RUN --threads 2, or text in `...`); breaks other words wider than a line only after '|' and ','.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

/// Applies wrapped() to each line of `text`, keeping its indentation and line end.
std::string wrapped_lines(const std::string& text, std::size_t width);

}  // namespace chargpt
