#include "base/unfinished_files.h"

#include "base/digits.h"

namespace chargpt {

namespace {

/// "PROCESS-NUMBER"
bool are_numbers(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) && is_number(text.substr(dash + 1));
}

}  // namespace

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
