// Names: enumerations with spellings, the nearest known name to a mistyped one, and lists of names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chargpt {

/// The entry of `known` with the smallest edit distance to `name`, the first of equals; nullopt if all are farther away
/// than max(1, length / 3). Swapping two neighbours is one edit; case, and `-` for `_`, cost nothing.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known);

/// "; did you mean n_layer?" with the nearest entry of `known`; `otherwise` if none is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known, const std::string& otherwise = "");

std::string joined(const std::vector<std::string>& names, const std::string& separator);
/// The reverse of joined(): the parts between separators, including empty ones.
std::vector<std::string> split(std::string_view text, std::string_view separator);

/// "a, b, c and 4 more": the first `most` names and the number of the others.
std::string some_of(const std::vector<std::string>& names, std::size_t most = 3);

/// Specialised by CHARGPT_ENUM: `list` has the spellings of E in the order of its values, "layernorm, rmsnorm, none".
template <class E>
struct EnumNames;

template <class E>
const std::vector<std::string>& enum_names() {
  static const std::vector<std::string> names = split(EnumNames<E>::list, ", ");
  return names;
}

template <class E>
std::string_view enum_name(E value) {
  return enum_names<E>()[static_cast<std::size_t>(value)];
}

template <class E>
std::optional<E> enum_value(std::string_view name) {
  const auto found = std::ranges::find(enum_names<E>(), name);
  return found == enum_names<E>().end() ? std::nullopt : std::optional(static_cast<E>(found - enum_names<E>().begin()));
}

}  // namespace chargpt

/// CHARGPT_ENUM(Norm, layernorm, rmsnorm, none) defines an enum class with spellings for enum_name() and enum_value().
/// Use it in namespace chargpt.
#define CHARGPT_ENUM(Name, ...)                            \
  enum class Name { __VA_ARGS__ };                         \
  template <>                                              \
  struct EnumNames<Name> {                                 \
    static constexpr std::string_view list = #__VA_ARGS__; \
  }
