// How one line of config.h becomes a member with its default, a range, a help text, a JSON key, a flag and a schema
// entry. Knows no option by name.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/names.h"

namespace chargpt {

/// Closed interval of allowed values of a number, or lengths of a list of strings; open at `min` if `above` is set.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool above = false;
};
constexpr Range between(double min, double max) {
  return {min, max, false};
}
constexpr Range at_least(double min) {
  return {min, std::numeric_limits<double>::infinity(), false};
}
constexpr Range above(double min) {
  return {min, std::numeric_limits<double>::infinity(), true};
}
constexpr Range any() {
  return {};
}

}  // namespace chargpt

/// One option: member of TYPE with its default, and a line of the struct's visit(). DEFAULT in parentheses if it
/// holds commas. What it needs may follow HELP.
#define CHARGPT_OPTION_MEMBER(TYPE, NAME, DEFAULT, RANGE, HELP, ...) TYPE NAME = DEFAULT;
#define CHARGPT_OPTION_VISIT(TYPE, NAME, DEFAULT, RANGE, HELP, ...) \
  visitor(#NAME, self.NAME, RANGE, HELP, "" __VA_ARGS__);

/// Gives struct NAME one member per option, and `visit(self, visitor)` that calls visitor(name, member, range, help,
/// needs) for each; needs is "" where an option is always obeyed.
#define CHARGPT_OPTIONS(NAME, OPTIONS)                 \
  struct NAME {                                        \
    OPTIONS(CHARGPT_OPTION_MEMBER)                     \
    template <class Self, class Visitor>               \
    static void visit(Self& self, Visitor&& visitor) { \
      OPTIONS(CHARGPT_OPTION_VISIT)                    \
    }                                                  \
  }
