// The trend of a loss and its spikes: figures to be checked by hand.
#include "train/nonfinite.h"

#include <cmath>
#include <limits>

#include "test.h"

using namespace chargpt;

namespace {

LossTrend after(std::initializer_list<double> losses) {
  LossTrend trend;
  for (const double loss : losses) trend = followed_by(trend, loss);
  return trend;
}

LossTrend after_many(int count, double loss) {
  LossTrend trend;
  for (int i = 0; i < count; ++i) trend = followed_by(trend, loss);
  return trend;
}

}  // namespace

TEST_CASE("at first the trend is mean and variance of all losses") {
  const LossTrend trend = after({1, 2, 3, 6});
  CHECK(trend.mean == Approx(3));
  CHECK(trend.variance == Approx((4 + 1 + 0 + 9) / 4.0));
  CHECK(trend.count == 4);
}

TEST_CASE("after fifty losses each new one counts a fiftieth") {
  const LossTrend trend = followed_by(after_many(50, 2), 7);
  CHECK(trend.mean == Approx(2 + 5 / 50.0));
  CHECK(trend.variance == Approx(49 / 50.0 * 25 / 50));
  CHECK(followed_by(after_many(1000, 2), 7).mean == trend.mean);
}

TEST_CASE("losses that are not finite change nothing") {
  const LossTrend before = after({1, 2});
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const LossTrend trend = followed_by(before, loss);
    CHECK(trend.mean == before.mean);
    CHECK(trend.variance == before.variance);
    CHECK(trend.count == 2);
  }
}

TEST_CASE("a spike is a nat and six deviations above the mean, and unknown before twenty losses") {
  CHECK(spike_threshold(LossTrend{}) == std::numeric_limits<double>::infinity());
  CHECK(spike_threshold(after_many(19, 2)) == std::numeric_limits<double>::infinity());
  CHECK(spike_threshold(after_many(20, 2)) == Approx(3));
  CHECK(spike_threshold({.mean = 2, .variance = 0.01, .count = 20}) == Approx(3));
  CHECK(spike_threshold({.mean = 2, .variance = 0.25, .count = 20}) == Approx(5));
}
