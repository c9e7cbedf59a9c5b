// Any exception becomes one line on stderr and an exit code.
#pragma once

#include <exception>
#include <optional>

#include "base/error.h"

namespace chargpt {

/// A signal ended the run, which was saved: exit code 128 + signal.
struct Stopped {
  int signal;
};

/// The command has printed its answer, and it is no: exit code 1, as that of cmp.
struct AnsweredNo {};

/// What an exception means to a user: an Error says so itself; out of memory, wherever that happened, is 81; what the
/// system refused is 74; anything else is a bug of ours, 70.
Error failure_of(const std::exception& error);

/// How a failure is told on stderr.
struct FailureForm {
  bool verbose = false;  ///< with the backtrace, if there is one
  bool json = false;     ///< as {"error":{"code":65,"message":"…"}}, the last line of stderr
};

/// To be called first: keeps a little memory back for the way out when there is no more, and makes one line and an exit
/// code of what would else abort: an exception that left a thread, or was thrown while another one was on its way.
/// All failures are told in this form.
void prepare_for_failures(const FailureForm& form);

/// Whether advice on lack of memory names options of a training.
inline bool is_training = false;

/// Prints `chargpt: error: …`, or JSON, and returns the exit code.
int report_failure(const std::exception& error);

/// What writing to stdout failed with: an Error io (disk full, a limit on file size). None for a closed pipe, whose
/// reader wants no more.
std::optional<Error> output_error(int reason);

/// Flushes stdout: 0, or the code of an output error, which is printed.
int finish_output();

}  // namespace chargpt
