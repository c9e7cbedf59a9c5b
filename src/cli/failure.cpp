#include "cli/failure.h"

#include <c10/util/Exception.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"
#include "compute/memory.h"
#include "report/log.h"

namespace chargpt {

namespace {

int print_failure(const std::string& line, ExitCode code) {
  log_error(line);
  return static_cast<int>(code);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

int report_failure(const std::exception& error, bool verbose) {
  std::fflush(stdout);
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return print_failure(ours->what(), ours->code());
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error))  // std::filesystem's, with path and reason
    return print_failure(first_line(refused->what()), ExitCode::io);
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  if (verbose) std::fprintf(stderr, "%s\n", error.what());
  if (const auto memory = as_memory_error(error)) return print_failure(memory->what(), memory->code());
  const std::string what = torch_error ? torch_error->what_without_backtrace() : error.what();
  return print_failure("internal: " + first_line(what) +
                           "; this is a bug of chargpt: please report it with the command line and the output of "
                           "`chargpt doctor` (--verbose shows more)",
                       ExitCode::internal);
}

int finish_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return static_cast<int>(ExitCode::ok);
  if (errno == EPIPE) return static_cast<int>(ExitCode::ok);
  return print_failure(std::string("writing to standard output failed: ") + std::strerror(errno), ExitCode::io);
}

}  // namespace chargpt
