#include "base/characters.h"

#include <clocale>
#include <cwchar>
#include <cwctype>

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

bool is_combining_mark(char32_t code_point) {
  const auto character = static_cast<wint_t>(code_point);
  return columns_of(code_point) == 0 &&
         by_unicode([&] { return iswalpha(character) != 0 || iswctype(character, wctype("combining")) != 0; });
}

std::size_t columns_of(char32_t code_point) {
  const int columns = by_unicode([&] { return wcwidth(static_cast<wchar_t>(code_point)); });
  return columns < 0 ? 1 : static_cast<std::size_t>(columns);
}

}  // namespace chargpt
