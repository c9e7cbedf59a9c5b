// Whether a text is in normal form C, as far as little is enough to tell.
#include "text/normal_form.h"

#include "test.h"

using namespace chargpt;

namespace {

NormalForm form_of(std::u32string_view text) {
  NormalFormCheck check;
  for (const char32_t character : text) check.add(character);
  return check.form();
}

}  // namespace

TEST_CASE("letters that are one code point each are composed") {
  CHECK(form_of(U"") == NormalForm::composed);
  CHECK(form_of(U"caf\u00e9, \u0419, \u65e5\u672c, \U0001F600\r\n") == NormalForm::composed);
}

TEST_CASE("a letter before a mark that joins with it is not composed") {
  CHECK(form_of(U"cafe\u0301") == NormalForm::decomposed);
  CHECK(form_of(U"\u0438\u0306") == NormalForm::decomposed);
}

TEST_CASE("a mark that joins with nothing, and what NFC may replace, are not told") {
  CHECK(form_of(U"x\u0301") == NormalForm::unknown);
  CHECK(form_of(U"\u0301e") == NormalForm::unknown);
  CHECK(form_of(U"\uF900") == NormalForm::unknown);  // a compatibility ideograph
}
