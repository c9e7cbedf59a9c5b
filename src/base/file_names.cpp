#include "base/file_names.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/names.h"
#include "base/quote.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

/// "PROCESS-NUMBER"
bool are_numbers(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) && is_number(text.substr(dash + 1));
}

}  // namespace

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

fs::path without_final_slash(const fs::path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

std::string name_of_path(const fs::path& path) {
  const fs::path name = without_final_slash(path).filename();
  if (!name.empty() && name != "." && name != "..") return name.string();
  std::error_code failed;
  return fs::weakly_canonical(path.empty() ? "." : path, failed).filename().string();
}

std::optional<std::string> unfinished_file_of(std::string_view name) {
  constexpr std::string_view prefix = ".chargpt-", end = ".tmp", infix = ".tmp-";
  if (name.starts_with(prefix) && name.ends_with(end) && name.size() > prefix.size() + end.size() &&
      are_numbers(name.substr(prefix.size(), name.size() - prefix.size() - end.size())))
    return "";
  const std::size_t at = name.rfind(infix);
  if (!name.starts_with('.') || at == std::string_view::npos || at < 2) return std::nullopt;
  if (!are_numbers(name.substr(at + infix.size()))) return std::nullopt;
  return std::string(name.substr(1, at - 1));
}

}  // namespace chargpt
