// A line of parts: which of them give way, and in what order.
#include "report/wrap.h"

#include "test.h"

using namespace chargpt;

namespace {

std::string fitted(std::size_t columns) {
  const std::vector<LinePart> parts = {
      {{{"step 5 of 9", 1}, {"step 5/9"}}}, {{{"loss 2.5"}}}, {{{"a note", 2}, {"", 0}}}};
  return joined_parts(forms_that_fit(parts, columns));
}

}  // namespace

TEST_CASE("all parts stand whole where there is room") {
  CHECK(fitted(80) == "step 5 of 9  loss 2.5  a note");
  CHECK(fitted(29) == "step 5 of 9  loss 2.5  a note");
}

TEST_CASE("what is worth least gives way first, and no more than is needed") {
  CHECK(fitted(28) == "step 5/9  loss 2.5  a note");
  CHECK(fitted(25) == "step 5/9  loss 2.5");
}

TEST_CASE("a part with one form stays, even where it does not fit") {
  CHECK(fitted(3) == "step 5/9  loss 2.5");
}

TEST_CASE("wide symbols count as a terminal shows them") {
  const std::vector<LinePart> parts = {{{{"日本", 1}, {"x"}}}};
  CHECK(forms_that_fit(parts, 4)[0] == "日本");
  CHECK(forms_that_fit(parts, 3)[0] == "x");
}
