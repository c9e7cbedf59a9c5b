#include "cli/process.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace chargpt {

// Field 22 of /proc/self/stat is the start in clock ticks since boot (proc(5)); the fields begin after the name's last
// ')'.
double process_start_seconds() {
  std::ifstream file("/proc/self/stat");
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

}  // namespace chargpt
