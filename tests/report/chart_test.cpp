// The values along a chart's axes.
#include "report/chart.h"

#include "test.h"

using namespace chargpt;

TEST_CASE("ticks are 1, 2 or 5 times a power of ten apart and lie inside") {
  CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(-0.2, 10.2, 8) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(101, 399, 3) == std::vector<double>{200, 300});
}
