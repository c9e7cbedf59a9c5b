#include "cli/work_line.h"

#include <unistd.h>

#include "base/clock.h"
#include "cli/process.h"
#include "report/log.h"
#include "report/terminal.h"

namespace chargpt {

WorkLine::WorkLine(const OutputArguments& output, double after)
    : quiet_(output.quiet), terminal_(repaints(STDERR_FILENO)), begun_(steady_seconds()), next_(begun_ + after) {}

double WorkLine::seconds() const {
  return steady_seconds() - begun_;
}

bool WorkLine::is_due() const {
  return !quiet_ && steady_seconds() >= next_;
}

void WorkLine::show(const std::string& text) {
  if (!is_due()) return;
  next_ = steady_seconds() + (terminal_ ? 0.1 : 5);
  if (!terminal_) return log_note(text);
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  const std::string line = "chargpt: " + text;
  write_progress("\r" + std::string(columns > 1 ? first_columns(line, columns - 1) : line) + "\x1b[K");
  painted_ = true;
}

Heartbeat WorkLine::heartbeat(const std::string& what) {
  return [this, what](double part) { show(what + ": " + std::to_string(static_cast<int>(100 * part)) + "%"); };
}

void WorkLine::clear() {
  if (painted_) write_progress(clear_line);
  painted_ = false;
}

}  // namespace chargpt
