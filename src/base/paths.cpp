#include "base/paths.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/names.h"
#include "base/quote.h"

namespace chargpt {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string nearest_entry(const fs::path& missing) {
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

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path without_final_slash(const fs::path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

std::string name_of_path(const fs::path& path) {
  const fs::path name = without_final_slash(path).filename();
  if (!name.empty() && name != "." && name != "..") return name.string();
  std::error_code failed;
  return fs::weakly_canonical(path.empty() ? "." : path, failed).filename().string();
}

bool is_unfinished_file(std::string_view name) {
  constexpr std::string_view prefix = ".chargpt-", end = ".tmp";
  if (!name.starts_with(prefix) || !name.ends_with(end) || name.size() < prefix.size() + end.size()) return false;
  name = name.substr(prefix.size(), name.size() - prefix.size() - end.size());
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

}  // namespace chargpt
