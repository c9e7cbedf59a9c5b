#include "cli/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace chargpt {

namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};
std::atomic<int> answer{0};  ///< 0: none; 1: a line; 2: a line in place of the repainted one
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used in a signal handler");

void on_signal(int signal) {
  if (stop_requested.exchange(true)) _exit(128 + signal);
  first_signal = signal;
  constexpr std::string_view line = "\r\x1b[Kchargpt: stopping; a second signal ends at once\n";
  constexpr std::size_t erasing = 4;
  if (answer == 0) return;
  const std::string_view shown = answer == 2 ? line : line.substr(erasing);
  const int before = errno;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, shown.data(), shown.size());
  errno = before;
}

}  // namespace

const std::atomic<bool>& stop_on_signals(bool quiet) {
  answer = quiet ? 0 : isatty(STDERR_FILENO) != 0 ? 2 : 1;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup asked to ignore it
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on file size (ulimit -f) is then an error of write()
  return stop_requested;
}

int stopping_signal() {
  return first_signal;
}

}  // namespace chargpt
