#include "cli/failure.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/memory.h"
#include "report/format.h"
#include "report/log.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

int print_failure(const Error& failure) {
  const int code = static_cast<int>(failure.code());
  if (failure_form.json)
    std::fputs(json_text({{"error", {{"code", code}, {"message", failure.what()}}}}, -1).c_str(), stderr);
  else
    log_error(failure.what());
  return code;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A GPU that exists but cannot be used: this LibTorch has no code for its generation, or others occupy it.
bool is_unusable_device(const std::string& what) {
  return what.find("no kernel image is available") != std::string::npos ||
         what.find("busy or unavailable") != std::string::npos;
}

/// Released by the first allocation that fails, so that destructors and the error message have memory.
std::unique_ptr<std::array<char, 256 * 1024>> reserve;

[[noreturn]] void on_lack_of_memory() {
  reserve.reset();
  throw std::bad_alloc();
}

/// Reports the current exception.
[[noreturn]] void on_terminate() {
  int code = static_cast<int>(ExitCode::internal);
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
    throw std::logic_error("terminated without an exception");
  } catch (const std::exception& error) {
    code = print_failure(failure_of(error));
  } catch (...) {
  }
  ::_exit(code);
}

}  // namespace

void prepare_for_failures() {
  std::set_terminate(on_terminate);
  reserve.reset(new (std::nothrow) std::array<char, 256 * 1024>);
  std::set_new_handler(on_lack_of_memory);
}

Error failure_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return *ours;
  if (const auto memory = as_memory_error(error, is_training)) return *memory;
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

int report_failure(const std::exception& error) {
  std::fflush(stdout);
  if (failure_form.verbose && dynamic_cast<const Error*>(&error) == nullptr)
    std::fprintf(stderr, "%s\n", escape_for_terminal(error.what()).c_str());
  return print_failure(failure_of(error));
}

}  // namespace chargpt
