// The Error that a call throws, for tests of whole messages.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "test.h"

namespace chargpt {

/// Code and line of the Error that `call` throws; the test fails where it throws none or anything else.
template <class Call>
Error failure_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no Error was thrown");
  return {ExitCode::internal, ""};
}

inline bool contains(const Error& error, const std::string& part) {
  return std::string(error.what()).find(part) != std::string::npos;
}

}  // namespace chargpt
