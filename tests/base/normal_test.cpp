// The normal distribution's quantiles, against Python's statistics.NormalDist.inv_cdf.
#include "base/normal.h"

#include <cmath>
#include <utility>
#include <vector>

#include "test.h"

using namespace chargpt;

TEST_CASE("quantiles of the normal distribution are Python's") {
  const std::vector<std::pair<double, double>> expected{{0.5, 0.0},
                                                        {0.9, 1.2815515655446008},
                                                        {0.075, -1.4395314709384557},
                                                        {0.025, -1.9599639845400538},
                                                        {0.999, 3.090232306167813},
                                                        {1e-06, -4.753424308822899},
                                                        {1e-09, -5.9978070150076865},
                                                        {1.1641532182693481e-10, -6.337957754553789},
                                                        {0.9999999998835847, 6.337957754553789},
                                                        {1e-12, -7.034483825301132},
                                                        {0.4999, -0.0002506628300880075}};
  for (const auto& [p, quantile] : expected) {
    INFO(p);
    CHECK(normal_quantile(p) == Approx(quantile).epsilon(1e-14).margin(1e-18));
  }
}

TEST_CASE("numbers of evenly spread bits have the distribution's moments") {
  constexpr std::uint32_t step = 1 << 12;
  double sum = 0, squares = 0, fourth = 0;
  for (std::uint64_t bits = step / 2; bits < std::uint64_t{1} << 32; bits += step) {
    const double z = normal_of(static_cast<std::uint32_t>(bits));
    sum += z, squares += z * z, fourth += z * z * z * z;
  }
  const double count = 0x1p20;
  CHECK(sum / count == Approx(0).margin(1e-6));
  CHECK(squares / count == Approx(1).epsilon(1e-4));
  CHECK(fourth / count == Approx(3).epsilon(1e-3));
  CHECK(normal_of(0) == -normal_of(0xffffffff));
}

TEST_CASE("one number is the same bits on every machine") {
  CHECK(normal_of(123456789) == -0x1.e64a7b3b07d57p+0);
}
