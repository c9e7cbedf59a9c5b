// The Error that an action ends with, for tests of texts.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace chargpt {

/// Exit code and line of the Error that `action` ends with; {ok, ""} where it ends without.
template <class Action>
std::pair<ExitCode, std::string> error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ExitCode::ok, ""};
}

inline std::pair<ExitCode, std::string> data_error(std::string line) {
  return {ExitCode::data, std::move(line)};
}

}  // namespace chargpt
