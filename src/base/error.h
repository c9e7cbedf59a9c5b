// The one exception type of the program. Its text is the line that a person reads; commands and libchargpt report it.
#pragma once

#include <stdexcept>

#include "base/quote.h"

namespace chargpt {

/// The exit codes that users may rely on (src/run/README.md, "Exit codes"). All are below 128: a stop by a signal exits
/// with 128 + its number.
enum class ExitCode : int {
  ok = 0,
  usage = 2,         ///< unknown option, bad value, bad config
  data = 65,         ///< text, prompt, vocabulary or checkpoint cannot be used
  missing = 66,      ///< an input does not exist
  unavailable = 69,  ///< a device that was asked for does not exist
  internal = 70,     ///< a bug in chargpt
  io = 74,           ///< input/output failed
  busy = 75,         ///< the run folder is in use, or contains another run
  diverged = 80,     ///< non-finite loss or gradient
  memory = 81,       ///< out of memory, host or device
};

/// One line for people: what, where, which value, which limit, what to do. It has no newline and no "error:" prefix.
class Error : public std::runtime_error {
 public:
  /// Joins the parts as line_of() does: Error(ExitCode::data, path, " has ", count, " bytes").
  template <class... Parts>
  Error(ExitCode code, const Parts&... parts) : std::runtime_error(line_of(parts...)), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace chargpt
