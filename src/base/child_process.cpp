#include "base/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"

namespace chargpt {
namespace {

/// Starts `words` in a new process group. Returns 0, or the error number of the failure.
int spawn(pid_t& id, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int failure = posix_spawn(&id, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  std::signal(SIGCHLD, SIG_DFL);  // a supervisor may have ignored it; the system would then discard exit codes
  setenv(parent_variable, std::to_string(getpid()).c_str(), /*overwrite=*/1);  // this process may itself be a child
  const int failure = spawn(id_, arguments);
  if (failure == EAGAIN) throw refused_thread();
  if (failure != 0)
    throw Error(ExitCode::io, "cannot start another process (", arguments.at(0), "): ", std::strerror(failure));
}

ChildProcess::~ChildProcess() {
  if (!ended()) kill(id_, SIGTERM);
  wait();
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
