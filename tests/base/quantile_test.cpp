#include "base/quantile.h"

#include "test.h"

namespace chargpt {
namespace {

TEST_CASE("quantiles lie at the values, and linearly between them") {
  CHECK(quantile({3}, 0.1) == 3);
  CHECK(quantile({5, 1, 3}, 0) == 1);
  CHECK(quantile({5, 1, 3}, 1) == 5);
  CHECK(quantile({4, 0}, 0.25) == 1);
  CHECK(quantile({10, 0, 20, 30, 40}, 0.9) == Approx(36));
}

TEST_CASE("the median of an even number of values is between the middle two") {
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({1, 2, 4, 100}) == 3);
}

}  // namespace
}  // namespace chargpt
