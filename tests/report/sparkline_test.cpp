#include "report/charts/heat_map.h"

#include <limits>
#include <vector>

#include "test.h"

using namespace chargpt;

TEST_CASE("the lowest value is the lowest block, and the top is reached at the largest alone") {
  CHECK(sparkline(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}, 8) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline(std::vector<double>{100, 7, 0}, 7) == "██▁");
  CHECK(sparkline(std::vector<double>{2, 2}, 2) == "▁▁");
  CHECK(sparkline(std::vector<double>{}, 1).empty());
}

TEST_CASE("a value that is not finite is a gap") {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  CHECK(sparkline(std::vector<double>{1, not_a_number, 0}, 1) == "█ ▁");
  CHECK(sparkline(std::vector<double>{not_a_number}, 1) == " ");
}
