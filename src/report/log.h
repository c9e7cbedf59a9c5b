// Lines for people on stderr, by level. The only door to spdlog, which cannot be included together with LibTorch and so
// does not show here.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace chargpt {

enum class LogLevel {
  quiet,    ///< errors and warnings
  normal,   ///< also notes
  verbose,  ///< also details
};

/// Sets level and colour for all later lines, and the columns of the terminal that they are broken at, between words
/// (0: nowhere); before the first call: normal, without colour, one line each.
void start_log(LogLevel level, bool color, std::size_t columns = 0);

inline constexpr std::string_view clear_line = "\r\x1b[K";

/// Writes `text` to stderr as it is: a line that repaints itself, clear_line, or whole lines. If it leaves a line
/// without an end on the terminal, the next log line clears that first.
void write_progress(std::string_view text);

enum class LogLine { error, warning, note, hint, detail };
/// Writes one line, "chargpt: …", its control characters escaped.
void log_line(LogLine kind, std::string_view line);

/// The same of a line's parts; see line_of().
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
inline constexpr LogOfParts<LogLine::detail> log_detail{};

}  // namespace chargpt
