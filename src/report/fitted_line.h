// A line for a terminal whose parts give way, the least important first, until it fits. Does not know what they say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace chargpt {

/// One part of a line: its forms from the longest to the shortest, an empty one where it may be left out. Each but the
/// last has a worth: of all parts, the form of the least worth is the next to give way.
struct LinePart {
  struct Form {
    std::string text;
    int worth = 0;
  };
  std::vector<Form> forms;
};

/// The form of each part with which all of them, two spaces apart, take at most `columns`; the shortest ones if nothing
/// helps.
std::vector<std::string> forms_that_fit(const std::vector<LinePart>& parts, std::size_t columns);

/// Two spaces apart, empty ones and spaces at the end left out.
std::string joined_parts(const std::vector<std::string>& parts);

}  // namespace chargpt
