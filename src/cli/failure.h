// Turns any exception into one line on stderr and an exit code.
#pragma once

#include <exception>

#include "base/error.h"

namespace chargpt {

/// Thrown if a signal ended the run, which was saved. Exit code: 128 + signal.
struct Stopped {
  int signal;
};

/// Thrown after a command has printed a negative answer. Exit code: 1, as for cmp.
struct AnsweredNo {};

/// Converts an exception to an Error with an exit code: an Error keeps its own, lack of memory is 81, a refusal by the
/// system is 74, and anything else is a bug of chargpt, 70.
Error failure_of(const std::exception& error);

/// How this process prints failures on stderr.
struct FailureForm {
  bool verbose = false;  ///< with the backtrace, if there is one
  bool json = false;     ///< as {"error":{"code":65,"message":"…"}}, the last line of stderr
};
inline FailureForm failure_form;

/// Call first. Reserves some memory to report lack of memory, and reports
/// exceptions that would abort the process (thrown out of a thread or during
/// another exception) as one line and an exit code.
void prepare_for_failures();

/// Whether advice on lack of memory names options of a training.
inline bool is_training = false;

/// Prints `chargpt: error: …`, or JSON, and returns the exit code.
int report_failure(const std::exception& error);

}  // namespace chargpt
