// A line for people out of words and numbers, as `<<` writes them. Knows nothing of what it says.
#pragma once

#include <sstream>
#include <string>

namespace chargpt {

template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts);
  return line.str();
}

}  // namespace chargpt
