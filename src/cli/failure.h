// Any exception becomes one line on stderr and an exit code.
#pragma once

#include <exception>
#include <string>

#include "base/error.h"

namespace chargpt {

/// A signal ended the run, which was saved: exit code 128 + signal.
struct Stopped {
  int signal;
};

struct Failure {
  ExitCode code = ExitCode::internal;
  std::string line;
};

/// What an exception means to a user: an Error says so itself; out of memory, wherever that happened, is 81; what the
/// system refused is 74; anything else is a bug of ours, 70.
Failure failure_of(const std::exception& error);

/// How a failure is told on stderr.
struct FailureForm {
  bool verbose = false;  ///< with the backtrace, if there is one
  bool json = false;     ///< as {"error":{"code":65,"message":"…"}}, the last line of stderr
};

/// Prints `chargpt: error: …`, or JSON, and returns the exit code.
int report_failure(const std::exception& error, FailureForm form);

/// Flushes stdout: 0, or the code of an output error (disk full), which is printed.
int finish_output(FailureForm form);

}  // namespace chargpt
