#include "cli/failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/memory.h"
#include "report/escape.h"
#include "report/log.h"

namespace chargpt {

namespace {

int print_failure(const Failure& failure, FailureForm form) {
  using Json = nlohmann::ordered_json;
  if (form.json)
    std::fprintf(stderr, "%s\n",
                 Json{{"error", {{"code", static_cast<int>(failure.code)}, {"message", failure.line}}}}
                     .dump(-1, ' ', false, Json::error_handler_t::replace)
                     .c_str());
  else
    log_error(failure.line);
  return static_cast<int>(failure.code);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A GPU that exists but cannot be used: this LibTorch has no code for its generation, or others occupy it.
bool is_unusable_device(const std::string& what) {
  return what.find("no kernel image is available") != std::string::npos ||
         what.find("busy or unavailable") != std::string::npos;
}

}  // namespace

Failure failure_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return {ours->code(), ours->what()};
  if (const auto memory = as_memory_error(error)) return {memory->code(), memory->what()};
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error))  // std::filesystem's, with path and reason
    return {ExitCode::io, first_line(refused->what())};
  const std::string what = error.what();  // LibTorch's messages have a backtrace after the first line
  if (is_unusable_device(what))
    return {ExitCode::unavailable, "this GPU cannot be used: " + first_line(what) +
                                       "; use --device cpu or another cuda:N, or build against another LibTorch"};
  return {ExitCode::internal, "internal: " + first_line(what) +
                                  "; this is a bug in chargpt: please report it with the command line and the output "
                                  "of `chargpt doctor` (--verbose shows more)"};
}

int report_failure(const std::exception& error, FailureForm form) {
  std::fflush(stdout);
  if (form.verbose && dynamic_cast<const Error*>(&error) == nullptr)
    std::fprintf(stderr, "%s\n", escape_for_terminal(error.what()).c_str());
  return print_failure(failure_of(error), form);
}

int finish_output(FailureForm form) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return static_cast<int>(ExitCode::ok);
  if (errno == EPIPE) return static_cast<int>(ExitCode::ok);
  return print_failure({ExitCode::io, std::string("writing to standard output failed: ") + std::strerror(errno)}, form);
}

}  // namespace chargpt
