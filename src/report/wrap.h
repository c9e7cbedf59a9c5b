// Text broken between words, so that it fits a terminal. Knows no terminal.
#pragma once

#include <cstddef>
#include <string>

namespace chargpt {

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
