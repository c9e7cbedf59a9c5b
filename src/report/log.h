// Lines for people on stderr, by level. The only door to spdlog, which cannot be included together with LibTorch and so
// does not show here.
#pragma once

#include <string_view>

namespace chargpt {

enum class LogLevel {
  quiet,    ///< errors and warnings
  normal,   ///< also notes
  verbose,  ///< also details
};

/// Sets level and colour for all later lines; before the first call: normal, without colour.
void start_log(LogLevel level, bool color);

// Each writes one line, "chargpt: …", its control characters escaped.
void log_error(std::string_view line);    ///< "chargpt: error: …"
void log_warning(std::string_view line);  ///< "chargpt: warning: …"
void log_note(std::string_view line);
void log_detail(std::string_view line);

}  // namespace chargpt
