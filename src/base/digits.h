// Whether a name, or a part of one, is a number. Knows no meaning of it.
#pragma once

#include <string_view>

namespace chargpt {

/// One decimal digit or more, and nothing else.
inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace chargpt
