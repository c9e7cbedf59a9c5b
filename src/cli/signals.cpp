#include "cli/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "cli/process.h"

namespace chargpt {

namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};
std::atomic<bool> answered{false}, repainted{false};  ///< with a line; in place of the repainted one
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used in a signal handler");

void write_line(std::string_view line) {
  const int before = errno;
  for (const std::string_view part : {std::string_view(repainted ? "\r\x1b[K" : ""), line})
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, part.data(), part.size());
  errno = before;
}

/// SIGXCPU comes again with every second of CPU time until the hard limit ends the process: time to save.
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

void ignore_file_size_signal() {
  std::signal(SIGXFSZ, SIG_IGN);
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
