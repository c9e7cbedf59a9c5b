// What an action fails with, for tests of whole messages.
#pragma once

#include <ostream>
#include <string>

#include "base/error.h"

namespace chargpt {

struct Failure {
  ExitCode code = ExitCode::ok;
  std::string line = "no error";
  bool operator==(const Failure&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Failure& failure) {
  return out << static_cast<int>(failure.code) << " " << failure.line;
}

template <class Action>
Failure failure_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

}  // namespace chargpt
