#include "base/characters.h"

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <cwctype>
#include <string_view>

namespace chargpt {
namespace {

/// Calls ask() under the locale C.UTF-8, or under the process's own locale on machines that lack C.UTF-8.
template <class Ask>
auto by_unicode(const Ask& ask) {
  static const locale_t table = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = uselocale(table);
  const auto answer = ask();
  uselocale(before);
  return answer;
}

}  // namespace

CharacterKind kind_of(char32_t code_point) {
  // The first of each script's ten digits: the C library counts only ASCII digits as digits.
  constexpr std::u32string_view zeros =
      U"0\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0c66\u0ce6\u0d66\u0e50\u0ed0\u0f20\u1040\u17e0\u1810\uff10";
  const auto begins = [code_point](char32_t zero) { return code_point >= zero && code_point < zero + 10; };
  if (std::ranges::any_of(zeros, begins)) return CharacterKind::digit;
  const auto character = static_cast<wint_t>(code_point);
  return by_unicode([&] {
    using enum CharacterKind;
    if (iswlower(character) != 0) return small;
    if (iswupper(character) != 0) return capital;
    const bool is_letter = iswalpha(character) != 0;
    if (columns_of(code_point) == 0 && (is_letter || iswctype(character, wctype("combining")) != 0)) return mark;
    return is_letter ? letter : other;
  });
}

std::size_t columns_of(char32_t code_point) {
  const int columns = by_unicode([&] { return wcwidth(static_cast<wchar_t>(code_point)); });
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace chargpt
