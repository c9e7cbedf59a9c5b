// Starts a child process, asks it to stop, waits for it. Independent of the program that it runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace chargpt {

/// The environment variable with the parent's process id: a child reads it so that it can end with its parent.
inline constexpr const char* parent_variable = "CHARGPT_PARENT";

/// A child in its own process group, so that Ctrl-C in a terminal reaches the parent alone, which decides what to do.
/// The child's stdin is empty and its stdout is discarded; it inherits stderr and the environment.
class ChildProcess {
 public:
  /// `arguments`: the program's path, then its arguments. Sets parent_variable in this process, too, and
  /// resets SIGCHLD to its default action. Error io if the child cannot be started, memory if the system allows no more
  /// processes.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  /// Asks the child to stop (SIGTERM) and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The exit code, or 128 + the signal that ended the child; nullopt while it runs.
  std::optional<int> ended();
  int wait();

 private:
  pid_t id_ = -1;
  std::optional<int> status_;
};

}  // namespace chargpt
