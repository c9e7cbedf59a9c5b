#include "cli/process.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/files.h"
#include "engine/torch_module.h"
#include "kernels/processor.h"
#include "report/log.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

const double loaded = steady_seconds();  ///< set before main()

std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};
std::atomic<bool> answered{false}, repainted{false};  ///< whether to print a line; to replace a repainted one
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used in a signal handler");

void write_line(std::string_view line) {
  const int before = errno;
  for (const std::string_view part : {std::string_view(repainted ? "\r\x1b[K" : ""), line})
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, part.data(), part.size());
  errno = before;
}

/// SIGXCPU repeats every second of CPU time until the hard limit ends the process, so later ones are ignored.
void on_signal(int signal) {
  const bool first = !stop_requested.exchange(true);
  if (!first && signal == SIGXCPU) return;
  if (!first) _exit(128 + signal);
  first_signal = signal;
  if (!answered) return;
  write_line(signal == SIGXCPU ? "chargpt: stopping: the limit of CPU time (ulimit -t) is reached\n"
                               : "chargpt: stopping; a second signal ends at once\n");
}

}  // namespace

TerminalSize terminal_size(int descriptor) {
  struct winsize size {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

std::size_t terminal_columns(int descriptor) {
  return terminal_size(descriptor).columns;
}

bool repaints(int descriptor) {
  return isatty(descriptor) != 0 && !is_dumb(std::getenv("TERM"));
}

std::size_t repainted_columns(int descriptor) {
  const std::size_t columns = terminal_columns(descriptor);
  return !repaints(descriptor) ? 0 : columns > 0 ? columns : 80;
}

bool uses_color(const std::string& flag, int descriptor) {
  return choose_color(flag, std::getenv("NO_COLOR"), repaints(descriptor));
}

double program_start_seconds() {
  return loaded;
}

std::string program_version() {
  return CHARGPT_VERSION " (" CHARGPT_GIT_REVISION ")";
}

std::string version_text() {
  settle_cpu_capability();
  const char* const limit = std::getenv("ATEN_CPU_CAPABILITY");
  return "chargpt " + program_version() + "\nLibTorch " + libtorch_version() + "\nCUDA " +
         (has_torch_module() ? CHARGPT_LIBTORCH_CUDA : "no") + "\nCPU capability " + kernels_capability() +
         (limit == nullptr ? "" : " (ATEN_CPU_CAPABILITY = " + std::string(limit) + ")") + "\n";
}

void end_with_parent() {
  const char* const parent = std::getenv(parent_variable);
  if (parent == nullptr || parsed_number<pid_t>(parent).value_or(0) <= 0) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(getppid()) == parent) return;
  log_error("process ", parent, ", which started this one (", parent_variable,
            " in the environment), has ended; unset it to run without that process");
  raise(SIGTERM);
}

const std::atomic<bool>& stop_on_signals(bool quiet) {
  answered = !quiet;
  repainted = repaints(STDERR_FILENO);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : stopping_signals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup asked to ignore it
  }
  std::signal(SIGPIPE, SIG_IGN);
  return stop_requested;
}

int stopping_signal() {
  return first_signal;
}

}  // namespace chargpt
