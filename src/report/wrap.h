// Text made to fit the columns of a terminal: broken between words, or, where it must stay one line, with parts that
// give way. Knows no terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

/// One part of a line: its forms from the longest to the shortest, an empty one where it may be left out. Each but the
/// last has a worth: of all parts, the form of the least worth is the next to give way.
struct LinePart {
  struct Form {
    std::string text;
    int worth = 0;
  };
  std::vector<Form> forms;
};

/// The form of each part with which all of them, two spaces apart, take at most `columns`; the shortest ones if nothing
/// helps.
std::vector<std::string> forms_that_fit(const std::vector<LinePart>& parts, std::size_t columns);

/// Two spaces apart, empty ones and spaces at the end left out.
std::string joined_parts(const std::vector<std::string>& parts);

}  // namespace chargpt
