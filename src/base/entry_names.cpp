#include "base/entry_names.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/names.h"
#include "base/quote.h"

namespace chargpt {

std::string nearest_entry(const std::filesystem::path& missing) {
  namespace fs = std::filesystem;
  constexpr std::size_t most_entries = 10'000;
  const fs::path folder = missing.parent_path();
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, failed), end; !failed && at != end;
       at.increment(failed))
    if (names.size() < most_entries) names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  const auto nearest = nearest_name(missing.filename().string(), names);
  return nearest ? "; did you mean " + printable_path(folder / *nearest) + "?" : "";
}

std::string name_of_path(const std::filesystem::path& path) {
  const std::filesystem::path name = (path.has_filename() ? path : path.parent_path()).filename();
  if (!name.empty() && name != "." && name != "..") return name.string();
  std::error_code failed;
  return std::filesystem::weakly_canonical(path.empty() ? "." : path, failed).filename().string();
}

}  // namespace chargpt
