// Names: enumerations with spellings, the nearest known name to a mistyped one, and lists of names.
#pragma once

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

/// Specialised by CHARGPT_ENUM: the spellings of E in the order of its values.
template <class E>
struct EnumNames;

template <class E>
std::string_view enum_name(E value) {
  return EnumNames<E>::names[static_cast<std::size_t>(value)];
}

template <class E>
std::optional<E> enum_value(std::string_view name) {
  for (std::size_t i = 0; i < std::size(EnumNames<E>::names); ++i)
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace chargpt

#define CHARGPT_ENUM_STRING_1(a) #a
#define CHARGPT_ENUM_STRING_2(a, ...) #a, CHARGPT_ENUM_STRING_1(__VA_ARGS__)
#define CHARGPT_ENUM_STRING_3(a, ...) #a, CHARGPT_ENUM_STRING_2(__VA_ARGS__)
#define CHARGPT_ENUM_STRING_4(a, ...) #a, CHARGPT_ENUM_STRING_3(__VA_ARGS__)
#define CHARGPT_ENUM_STRING_5(a, ...) #a, CHARGPT_ENUM_STRING_4(__VA_ARGS__)
#define CHARGPT_ENUM_STRING_6(a, ...) #a, CHARGPT_ENUM_STRING_5(__VA_ARGS__)
#define CHARGPT_ENUM_PICK(_1, _2, _3, _4, _5, _6, NAME, ...) NAME
#define CHARGPT_ENUM_STRINGS(...)                                                                     \
  CHARGPT_ENUM_PICK(__VA_ARGS__, CHARGPT_ENUM_STRING_6, CHARGPT_ENUM_STRING_5, CHARGPT_ENUM_STRING_4, \
                    CHARGPT_ENUM_STRING_3, CHARGPT_ENUM_STRING_2, CHARGPT_ENUM_STRING_1, _)           \
  (__VA_ARGS__)

/// CHARGPT_ENUM(Norm, layernorm, rmsnorm, none) defines an enum class with spellings for enum_name() and enum_value().
/// Use it in namespace chargpt; it takes at most 6 values.
#define CHARGPT_ENUM(Name, ...)                                                      \
  enum class Name { __VA_ARGS__ };                                                   \
  template <>                                                                        \
  struct EnumNames<Name> {                                                           \
    static constexpr std::string_view names[] = {CHARGPT_ENUM_STRINGS(__VA_ARGS__)}; \
  }
