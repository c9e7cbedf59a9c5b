// Log lines on stderr. The only user of spdlog's logger, which cannot be included together with LibTorch, so
// this header does not include it.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace chargpt {

/// Sets `quiet` (only errors and warnings are written), the colour of later lines, and the terminal columns at which
/// they wrap between words (0: no wrapping). Before the first call: not quiet, no colour, no wrapping.
void start_log(bool quiet, bool color, std::size_t columns = 0);

/// Whether only errors and warnings are shown.
bool log_is_quiet();

inline constexpr std::string_view clear_line = "\r\x1b[K";

/// Writes `text` to stderr unchanged: a repainted line, clear_line, or whole lines. If `text` ends inside a line, the
/// next log line clears that line first.
void write_progress(std::string_view text);

enum class LogLine { error, warning, note, hint };
/// Writes one line, "chargpt: …", with control characters escaped.
void log_line(LogLine kind, std::string_view line);

/// Calls log_line() with the concatenation of its arguments; see line_of().
template <LogLine kind>
struct LogOfParts {
  template <class... Parts>
  void operator()(const Parts&... parts) const {
    log_line(kind, line_of(parts...));
  }
};
inline constexpr LogOfParts<LogLine::error> log_error{};      ///< "chargpt: error: …"
inline constexpr LogOfParts<LogLine::warning> log_warning{};  ///< "chargpt: warning: …"
inline constexpr LogOfParts<LogLine::note> log_note{};
inline constexpr LogOfParts<LogLine::hint> log_hint{};  ///< "chargpt: → COMMAND": what to run next

}  // namespace chargpt
