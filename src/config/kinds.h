// What each type of option is called, and what it accepts, in words: for messages, help, tables and the schema; and
// from a value as written to the member of Config. Knows no option by name and no file. A new type of option is a case
// in the functions here, and overloads in kinds.cpp and describe.cpp.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/names.h"
#include "config/config.h"
#include "config/source.h"

namespace chargpt {

template <class E>
std::vector<std::string> spellings() {
  return {std::begin(EnumNames<E>::names), std::end(EnumNames<E>::names)};
}

/// The shortest text that reads back equal: "1000", "1e12", "0.1".
inline std::string spelled(double number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  std::string out(digits, end);
  if (const std::size_t plus = out.find("e+"); plus != std::string::npos) out.erase(plus + 1, 1);
  return out;
}
inline std::string spelled(std::int64_t number) {
  return std::to_string(number);
}

/// "1 to 1000", "at least 0", "above 1"; empty if anything goes.
inline std::string range_text(const Range& range) {
  if (std::isfinite(range.min) && std::isfinite(range.max)) return spelled(range.min) + " to " + spelled(range.max);
  if (std::isfinite(range.min)) return (range.above ? "above " : "at least ") + spelled(range.min);
  return std::isfinite(range.max) ? "at most " + spelled(range.max) : "";
}

template <class T>
std::string type_name(const T&) {
  if constexpr (std::is_enum_v<T>) return "choice";
  if constexpr (std::is_same_v<T, std::int64_t>) return "integer";
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, OptionalNumber>) return "number";
  if constexpr (std::is_same_v<T, bool>) return "boolean";
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, Strings>) return "string or list";
  if constexpr (std::is_same_v<T, Places>) return "list";
  return "list of objects";
}

/// The values that an option of this type and range accepts; empty if any value of the type will do.
template <class T>
std::string allowed_text(const T&, const Range& range) {
  if constexpr (std::is_enum_v<T>) return joined(spellings<T>(), "|");
  if constexpr (std::is_same_v<T, Places>) return joined(spellings<Place>(), "|");
  if constexpr (std::is_same_v<T, bool>) return "true|false";
  return std::is_same_v<T, Strings> ? "" : range_text(range);
}

/// "it takes …": "a whole number, 1 to 1000".
template <class T>
std::string takes(const T& member, const Range& range) {
  const std::string allowed = allowed_text(member, range);
  const std::string limit = allowed.empty() ? "" : ", " + allowed;
  if constexpr (std::is_enum_v<T>) return "one of " + joined(spellings<T>(), ", ");
  if constexpr (std::is_same_v<T, std::int64_t>) return "a whole number" + limit;
  if constexpr (std::is_same_v<T, double>) return "a number" + limit;
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_same_v<T, Strings>) return "a string or a list of strings";
  if constexpr (std::is_same_v<T, Places>) return "a list of " + joined(spellings<Place>(), ", ");
  return "a list of objects";
}

/// Sets config.SECTION.KEY; false if there is no such option. Error usage, opening with `place`, if the value has
/// another type, is out of range or is not one of the choices.
bool assign_option(Config& config, std::string_view section, std::string_view key, const Value& value,
                   const std::string& place, const Source& source);
/// Whether config.SECTION.KEY is there, and a string.
bool is_string_option(std::string_view section, std::string_view key);

}  // namespace chargpt
