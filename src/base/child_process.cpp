#include "base/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/memory.h"

namespace chargpt {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The parent's environment with a new parent_variable: the parent may itself be a child.
std::vector<std::string> child_environment() {
  const std::string parent = std::string(parent_variable) + "=";
  std::vector<std::string> lines{parent + std::to_string(getpid())};
  for (char** line = environ; *line != nullptr; ++line)
    if (!std::string_view(*line).starts_with(parent)) lines.emplace_back(*line);
  return lines;
}

/// A supervisor may have ignored SIGCHLD, and programs inherit that: the system would then discard exit codes, and
/// waiting would fail.
void let_children_be_waited_for() {
  struct sigaction now {};
  if (sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) std::signal(SIGCHLD, SIG_DFL);
}

/// Starts `words` in a new process group. Returns 0, or the error number of the failure.
int spawn(pid_t& id, std::vector<std::string> words) {
  std::vector<std::string> environment = child_environment();
  const std::vector<char*> arguments = pointers_to(words), variables = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int failure = posix_spawn(&id, arguments[0], &actions, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  let_children_be_waited_for();
  const int failure = spawn(id_, arguments);
  if (failure == EAGAIN) throw refused_thread();
  if (failure != 0)
    throw Error(ExitCode::io, "cannot start another process (", arguments.at(0), "): ", std::strerror(failure));
}

ChildProcess::~ChildProcess() {
  ask_to_stop();
  wait();
}

void ChildProcess::ask_to_stop() {
  if (!asked_ && !ended()) kill(id_, SIGTERM);
  asked_ = true;
}

std::optional<int> ChildProcess::ended() {
  int status = 0;
  if (!status_ && waitpid(id_, &status, WNOHANG) == id_) status_ = code_of(status);
  return status_;
}

int ChildProcess::wait() {
  int status = 0;
  while (!status_) {
    if (waitpid(id_, &status, 0) == id_)
      status_ = code_of(status);
    else if (errno != EINTR)
      throw Error(ExitCode::internal, "waiting for a child process failed: ", std::strerror(errno));
  }
  return *status_;
}

}  // namespace chargpt
