#include "experiment/own_process.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace chargpt {
namespace {

constexpr std::string_view prefix = "chargpt: error: ";

std::string how_it_ended(int code) {
  if (code == 128 + SIGKILL)
    return "was killed (signal 9), as happens when memory runs out; run fewer at once, or lower "
           "train.batch_size";
  if (code > 128) return "was ended by signal " + std::to_string(code - 128) + " (" + strsignal(code - 128) + ")";
  return "ended with exit code " + std::to_string(code) + " and no message";
}

/// Ended by a signal, or with a code that is none of ours, it has no exit code to pass on.
ExitCode code_to_pass_on(int code) {
  constexpr std::array ours{ExitCode::usage,       ExitCode::data,     ExitCode::missing,
                            ExitCode::unavailable, ExitCode::internal, ExitCode::io,
                            ExitCode::busy,        ExitCode::diverged, ExitCode::memory};
  if (code == 128 + SIGKILL) return ExitCode::memory;
  const auto found = std::find(ours.begin(), ours.end(), static_cast<ExitCode>(code));
  return found == ours.end() ? ExitCode::internal : *found;
}

}  // namespace

std::string error_of(const ChildProcess& child, int code) {
  const std::string said = child.kept_output();
  const std::size_t begin = said.rfind(prefix);
  if (begin == std::string::npos || (begin > 0 && said[begin - 1] != '\n')) return "it " + how_it_ended(code);
  const std::size_t line = begin + prefix.size();
  return said.substr(line, said.find('\n', line) - line);
}

Error failure_of_run(const std::string& run, const ChildProcess& child, int code) {
  return {code_to_pass_on(code), run + ": " + error_of(child, code)};
}

}  // namespace chargpt
