// A child process: started, asked to stop, waited for. Independent of the program that it runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace chargpt {

/// The environment variable that tells a child its parent's process id, so that it can arrange to end with it.
inline constexpr const char* parent_variable = "CHARGPT_PARENT";

/// A process group of its own: a terminal's Ctrl-C reaches the parent alone, which decides. Its stdin is empty, its
/// stdout is discarded; stderr and environment are the parent's.
class ChildProcess {
 public:
  /// `arguments`: the program's path, then its arguments. SIGCHLD, where it was ignored, gets its default action. Error
  /// io where the child cannot be started, memory where the system allows no more processes.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  /// Asks it to stop and waits.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// SIGTERM, once however often it is called.
  void ask_to_stop();
  /// Exit code, or 128 + the signal that ended it; none while it runs.
  std::optional<int> ended();
  int wait();

 private:
  pid_t id_ = -1;
  bool asked_ = false;
  std::optional<int> status_;
};

}  // namespace chargpt
