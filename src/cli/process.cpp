#include "cli/process.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "base/child_process.h"

namespace chargpt {

// Field 22 of /proc/self/stat is the start in clock ticks since boot (proc(5)); the fields begin after the name's last
// ')'.
double process_start_seconds(pid_t id) {
  std::ifstream file("/proc/" + (id == 0 ? "self" : std::to_string(id)) + "/stat");
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 2, stat.size())));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  struct timespec boot {
  }, steady{};
  if (!fields || clock_gettime(CLOCK_BOOTTIME, &boot) != 0 || clock_gettime(CLOCK_MONOTONIC, &steady) != 0) return 0;
  const auto asleep =
      static_cast<double>(boot.tv_sec - steady.tv_sec) + 1e-9 * static_cast<double>(boot.tv_nsec - steady.tv_nsec);
  return std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK)) - asleep;
}

void end_with_parent() {
  const char* parent = std::getenv(parent_variable);
  if (parent == nullptr) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (std::to_string(getppid()) != parent) raise(SIGTERM);  // it had ended before
}

// The link is looked up by the child between its birth and the program's start, when it still leads to the parent's
// program.
std::vector<std::string> own_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"/proc/self/exe"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<std::string> as_arguments(std::span<const Override> overrides) {
  std::vector<std::string> arguments;
  for (const Override& override : overrides)
    arguments.insert(arguments.end(), {"--set", override.key + "=" + override.value});
  return arguments;
}

}  // namespace chargpt
