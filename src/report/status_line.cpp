#include "report/status_line.h"

#include "report/terminal.h"

namespace chargpt {

std::string fitting_parts(const std::vector<std::string>& parts, std::size_t columns) {
  const std::size_t most = columns > 0 ? columns : std::string::npos;
  std::string line;
  for (const std::string& part : parts) {
    const std::string longer = part.empty() || line.empty() ? line + part : line + "  " + part;
    if (!line.empty() && display_width(without_end_spaces(longer)) > most) break;
    line = longer;
  }
  return without_end_spaces(std::string(first_columns(line, most)));
}

void StatusLine::show(const std::vector<std::string>& parts, double now) {
  next_ = now + (columns_ > 0 ? 0.1 : 5);
  painted_ = columns_ > 0;
  sink_(painted_ ? "\r" + fitting_parts(parts, columns_ - 1) + "\x1b[K" : fitting_parts(parts, 0) + "\n");
}

void StatusLine::print(std::string_view lines) {
  clear();
  if (columns_ > 0) next_ = 0;
  sink_(lines);
}

void StatusLine::clear() {
  if (std::exchange(painted_, false)) sink_(clear_line);
}

}  // namespace chargpt
