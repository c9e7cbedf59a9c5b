#include "base/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace chargpt {
namespace {

/// What posix_spawn wants to be told, and told to forget again.
class Spawning {
 public:
  explicit Spawning(int errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> child_environment() {
  const std::string own = std::string(parent_variable) + "=";
  std::vector<std::string> lines{own + std::to_string(getpid())};
  for (char** line = environ; *line != nullptr; ++line)
    if (!std::string_view(*line).starts_with(own)) lines.emplace_back(*line);
  return lines;
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments)
    : errors_(memfd_create("stderr of a child", MFD_CLOEXEC)) {
  std::vector<std::string> words = arguments, environment = child_environment();
  int failure = errors_ < 0 ? errno : 0;
  if (failure == 0) {
    const Spawning spawning(errors_);
    failure = posix_spawn(&id_, words.at(0).c_str(), spawning.actions(), spawning.attributes(),
                          pointers_to(words).data(), pointers_to(environment).data());
  }
  if (failure == 0) return;
  if (errors_ >= 0) close(errors_);
  throw Error(ExitCode::io, "cannot start another process (" + words.at(0) + "): " + std::strerror(failure));
}

ChildProcess::~ChildProcess() {
  ask_to_stop();
  wait();
  close(errors_);
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
      throw Error(ExitCode::internal, "waiting for a child process failed: " + std::string(std::strerror(errno)));
  }
  return *status_;
}

std::string ChildProcess::errors() const {
  std::string text;
  char piece[4096];
  ssize_t count = 0;
  while ((count = pread(errors_, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0)
    text.append(piece, static_cast<std::size_t>(count));
  return text;
}

}  // namespace chargpt
