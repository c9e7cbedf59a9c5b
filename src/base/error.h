// The one exception type of the program. A module throws it with the line a person should read; only main catches it.
#pragma once

#include <stdexcept>

#include "base/quote.h"

namespace chargpt {

/// Exit codes of the contract (src/run/README.md, "Exit codes"); values below 128 only, stops by signal are 128 +
/// signal number.
enum class ExitCode : int {
  ok = 0,
  usage = 2,         ///< unknown option, bad value, bad config
  data = 65,         ///< text, prompt, vocabulary or checkpoint cannot be used as it is
  missing = 66,      ///< an input is not there
  unavailable = 69,  ///< a device that was asked for is not there
  internal = 70,     ///< a bug of ours
  io = 74,           ///< input/output failed
  busy = 75,         ///< the run folder is in use, or holds another run
  diverged = 80,     ///< non-finite loss or gradient
  memory = 81,       ///< out of memory, host or device
};

/// One line for people: what, where, which value, which limit, what to do. No newline, no "error:" prefix.
class Error : public std::runtime_error {
 public:
  /// Error(ExitCode::data, path, " has ", count, " bytes"); see line_of().
  template <class... Parts>
  Error(ExitCode code, const Parts&... parts) : std::runtime_error(line_of(parts...)), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace chargpt
