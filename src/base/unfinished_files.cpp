#include "base/unfinished_files.h"

#include <string>
#include <system_error>
#include <vector>

namespace chargpt {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool is_unfinished_name(std::string_view name) {
  constexpr std::string_view infix = ".tmp-";
  const std::size_t at = name.rfind(infix);
  if (!name.starts_with('.') || at == std::string_view::npos || at == 0) return false;
  const std::string_view numbers = name.substr(at + infix.size());
  const std::size_t dash = numbers.find('-');
  return dash != std::string_view::npos && is_number(numbers.substr(0, dash)) && is_number(numbers.substr(dash + 1));
}

void remove_unfinished_files(const fs::path& folder) {
  std::vector<fs::path> unfinished;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (is_unfinished_name(at->path().filename().string())) unfinished.push_back(at->path());
  for (const fs::path& path : unfinished) fs::remove(path, failure);
}

}  // namespace chargpt
