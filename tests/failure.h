// The Error that a call throws, for tests of whole messages.
#pragma once

#include <ostream>
#include <utility>

#include "base/error.h"
#include "test.h"

namespace chargpt {

/// An exit code and the line with it.
struct Failure {
  ExitCode code = ExitCode::ok;
  std::string line = "no error";
  bool operator==(const Failure&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Failure& failure) {
  return out << static_cast<int>(failure.code) << " " << failure.line;
}

inline Failure data_error(std::string line) {
  return {ExitCode::data, std::move(line)};
}

/// What the Error of a call says, where it throws one.
template <class Call>
Failure error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// The line of the Error that `call` throws; the test fails where that is none of this code.
template <class Call>
std::string message_of(ExitCode code, Call&& call) {
  const Failure failure = error_of(call);
  INFO(failure.line);
  CHECK(failure.code == code);
  return failure.line;
}

}  // namespace chargpt
