#include "cli/process.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/files.h"
#include "report/log.h"
#include "report/terminal.h"

namespace chargpt {

namespace {

/// `clock` now, in seconds; 0 if there is no such clock.
double seconds_of(clockid_t clock) {
  struct timespec time {};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds since the launch of this process, from CHARGPT_LAUNCHED; nullopt if absent or not plausible.
std::optional<double> seconds_since_launch() {
  const char* const launched = std::getenv("CHARGPT_LAUNCHED");
  const double age = launched == nullptr ? -1 : seconds_of(CLOCK_REALTIME) - std::strtod(launched, nullptr);
  return age >= 0 ? std::optional(age) : std::nullopt;
}

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

// Field 22 of /proc/self/stat is the start in clock ticks since boot (proc(5)); the fields begin after the name's last
// ')'.
double process_start_seconds() {
  std::ifstream file("/proc/self/stat");
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 2, stat.size())));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  const double now = steady_seconds(), since_boot = seconds_of(CLOCK_BOOTTIME), asleep = since_boot - now;
  if (!fields || since_boot == 0) return 0;
  const double start = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK)) - asleep;
  const auto age = seconds_since_launch();
  return age ? std::max(start, now - *age) : start;
}

void end_with_parent() {
  const char* const parent = std::getenv(parent_variable);
  if (parent == nullptr || !whole_number(parent)) return;
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU}) {
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
