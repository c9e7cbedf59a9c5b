// Any exception becomes one line on stderr and an exit code.
#pragma once

#include <exception>

namespace chargpt {

/// A run that a signal ended after it was saved: exit code 128 + signal.
struct Stopped {
  int signal;
};

/// Prints `chargpt: error: …` (with the backtrace if verbose) and returns the exit code.
int report_failure(const std::exception& error, bool verbose);

/// Flushes stdout: 0, or the code of an output error (disk full), which is printed.
int finish_output();

}  // namespace chargpt
