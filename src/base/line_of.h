// A line for people out of its parts. Knows nothing of what it says.
#pragma once

#include <filesystem>
#include <string>
#include <type_traits>

#include "base/quote.h"

namespace chargpt {

/// With six significant digits, as `<<` writes it.
std::string short_number(double number);

template <class Part>
void append_part(std::string& line, const Part& part) {
  if constexpr (std::is_same_v<Part, std::filesystem::path>)
    line += printable_path(part);
  else if constexpr (std::is_floating_point_v<Part>)
    line += short_number(part);
  else if constexpr (std::is_integral_v<Part> && !std::is_same_v<Part, char>)
    line += std::to_string(part);
  else
    line += part;
}

/// Texts as they are, numbers in decimals, paths printable: line_of("step ", 7, " of ", run).
template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::string line;
  (append_part(line, parts), ...);
  return line;
}

}  // namespace chargpt
