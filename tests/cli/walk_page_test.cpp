// The picture of a matrix in the page of explain: one number that is not finite hides no other.
#include "base/bytes.h"
#include "page/page.h"
#include "test.h"

using namespace chargpt;

TEST_CASE("an infinite number is as strong as the largest finite one, and one that is none has a colour") {
  const Floats values = {std::numeric_limits<float>::infinity(), 4, -4, 0, std::numeric_limits<float>::quiet_NaN()};
  WalkStep step;
  step.name = "scores";
  step.matrix = {.rows = {"a"}, .columns = {}, .values = values};
  // A byte for each: 128 is zero, 1 and 255 are the farthest from it.
  CHECK_THAT(walk_page("title", "introduction", {step}),
             Catch::Contains("data-values=\"" + base64("\xff\xff\x01\x80\xff") + "\""));
}
