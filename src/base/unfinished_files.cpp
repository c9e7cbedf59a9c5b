#include "base/unfinished_files.h"

#include "base/digits.h"

namespace chargpt {

std::optional<std::string> unfinished_file_of(std::string_view name) {
  constexpr std::string_view infix = ".tmp-";
  const std::size_t at = name.rfind(infix);
  if (!name.starts_with('.') || at == std::string_view::npos || at < 2) return std::nullopt;
  const std::string_view numbers = name.substr(at + infix.size());
  const std::size_t dash = numbers.find('-');
  if (dash == std::string_view::npos || !is_number(numbers.substr(0, dash)) || !is_number(numbers.substr(dash + 1)))
    return std::nullopt;
  return std::string(name.substr(1, at - 1));
}

}  // namespace chargpt
