#include "base/nearest_entry.h"

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

}  // namespace chargpt
