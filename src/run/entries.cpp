#include "run/entries.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/quote.h"

namespace chargpt {

namespace fs = std::filesystem;

std::vector<std::string> entries_of(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    names.push_back(at->path().filename().string());
  if (failed && failed != std::errc::no_such_file_or_directory && failed != std::errc::not_a_directory)
    throw Error(failed == std::errc::not_enough_memory ? ExitCode::memory : ExitCode::io,
                "cannot list " + printable_path(folder) + ": " + failed.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace chargpt
