// Lines for people on stderr, by level. The only door to spdlog, which cannot be included together with LibTorch and so
// does not show here.
#pragma once

#include <cstddef>
#include <string_view>

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

// Each writes one line, "chargpt: …", its control characters escaped.
void log_error(std::string_view line);    ///< "chargpt: error: …"
void log_warning(std::string_view line);  ///< "chargpt: warning: …"
void log_note(std::string_view line);
void log_hint(std::string_view command);  ///< "chargpt: → COMMAND": what to run next
void log_detail(std::string_view line);

}  // namespace chargpt
