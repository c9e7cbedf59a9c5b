// What a reader of foreign bytes promises, checked: broken, the process aborts, which a fuzzer sees.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "report/terminal.h"

namespace chargpt {

inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

inline void promise_fit_for_people(const std::string& line) {
  promise(!line.empty() && line.find('\n') == std::string::npos, "a message is one line");
  promise(escape_for_terminal(line) == line, "a message holds nothing that a terminal obeys");
}

/// Calls `read`; true where it returned. An Error is an answer too, if people can read it; nothing else may be thrown.
template <class Read>
bool attempt(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    promise_fit_for_people(error.what());
    return false;
  }
}

}  // namespace chargpt
