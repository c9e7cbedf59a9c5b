#include "report/wrap.h"

#include <sstream>

#include "report/symbols.h"

namespace chargpt {

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines, word;
  std::size_t used = indent;
  std::istringstream words(text);
  bool first_of_line = true;
  while (words >> word) {
    if (!first_of_line && width > 0 && used + 1 + display_width(word) > width) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
      first_of_line = true;
    }
    lines += (first_of_line ? "" : " ") + word;
    used += display_width(word) + (first_of_line ? 0 : 1);
    first_of_line = false;
  }
  return lines + "\n";
}

std::string wrapped_lines(const std::string& text, std::size_t width) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    out += width > 0 && display_width(line) > width ? wrapped(line, 0, width) : line + "\n";
  return out;
}

}  // namespace chargpt
