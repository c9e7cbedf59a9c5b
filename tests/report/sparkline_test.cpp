// A curve in one line: heights, what stands out, and what is left of a long series.
#include "report/sparkline.h"

#include <limits>
#include <vector>

#include "test.h"

using namespace chargpt;

namespace {
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
}

TEST_CASE("the lowest value is the lowest block, and values rise with their blocks") {
  CHECK(sparkline(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 7, 7}) == "▁▂▃▄▅▆▇███");
  CHECK(sparkline(std::vector<double>{2, 2, 2}) == "▁▁▁");
  CHECK(sparkline(std::vector<double>{}).empty());
}

TEST_CASE("a steep beginning leaves the rest its height") {
  CHECK(sparkline(std::vector<double>{100, 7, 6, 5, 4, 3, 2, 1, 0, 0}) == "██▇▆▅▄▃▂▁▁");
}

TEST_CASE("a value that is not finite is a gap") {
  CHECK(sparkline(std::vector<double>{1, not_a_number, 0}) == "█ ▁");
  CHECK(sparkline(std::vector<double>{not_a_number}) == " ");
}

TEST_CASE("a short series is told value by value, a longer one by means of its stretches") {
  Series series;
  CHECK(series.means(4).empty());
  for (const double value : {1.0, 3.0, not_a_number, 5.0, 7.0}) series.add(value);
  CHECK(series.means(8) == std::vector<double>{1, 3, 5, 7});
  CHECK(series.means(2) == std::vector<double>{2, 6});
}

TEST_CASE("a series of any length keeps its shape in little memory") {
  Series series;
  constexpr int many = 1 << 16;
  for (int i = 0; i < many; ++i) series.add(i);
  const std::vector<double> means = series.means(4);
  REQUIRE(means.size() == 4);
  for (int i = 0; i < 4; ++i)
    CHECK(means[static_cast<std::size_t>(i)] == Approx(many * (2 * i + 1) / 8.0).margin(many / 100.0));
  CHECK(series.means(1'000'000).size() <= 256);
}

TEST_CASE("a sparkline with its top given reaches it at the largest value alone") {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(sparkline(values, 8) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline(std::vector<double>{2, 2}, 2) == "▁▁");
}
