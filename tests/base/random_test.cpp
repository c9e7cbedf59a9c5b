#include "base/random.h"

#include <array>

#include "base/quantile.h"
#include "test.h"

namespace chargpt {
namespace {

using Counter = std::array<std::uint32_t, 4>;

TEST_CASE("philox gives the figures of Random123's known-answer tests") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Counter{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  constexpr std::uint32_t ones = 0xFFFFFFFF;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Counter{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  CHECK(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
        Counter{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("a stream is the cipher of a counter that starts at (0, b, a) under the key of its seed and purpose") {
  const auto key = philox({3, 0, 0, 0}, {7, 1});
  RandomStream stream(0x100000007, Purpose::sampling, 0x900000005, 2);
  for (std::uint32_t block = 0; block < 3; ++block)
    for (const std::uint32_t expected : philox({block, 2, 5, 9}, {key[0], key[1]})) CHECK(stream.next() == expected);
  const auto first = philox({0, 2, 5, 9}, {key[0], key[1]});
  CHECK(derive_seed(0x100000007, Purpose::sampling, 0x900000005, 2) == (first[0] | std::uint64_t{first[1]} << 32));
}

TEST_CASE("below() stays under its bound and hits every value about equally often") {
  RandomStream stream(7, Purpose::windows);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100000; ++i) ++counts.at(stream.below(10));
  for (const int count : counts) CHECK(count == Approx(10000).margin(400));  // four standard deviations of 95
  CHECK(stream.below(1) == 0);
  constexpr std::uint64_t huge = 0xFFFFFFFFFFFFFFFF;
  for (int i = 0; i < 1000; ++i) CHECK(stream.below(huge) < huge);
}

TEST_CASE("below() rejects the draws that would favour some values") {
  // Of 2^64 numbers, bound 3 * 2^62 leaves a quarter over: without rejection, results that are 0 mod 3 come twice as
  // often.
  RandomStream stream(7, Purpose::windows);
  std::array<int, 3> counts{};
  for (int i = 0; i < 30000; ++i) ++counts.at(stream.below(std::uint64_t{3} << 62) % 3);
  for (const int count : counts) CHECK(count == Approx(10000).margin(330));
}

// The normal distribution's quantiles are those of Python's statistics.NormalDist.inv_cdf.

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

TEST_CASE("one number is the same bits on every machine") {
  CHECK(static_cast<float>(normal_of(123456789)) == -0x1.e64a7cp+0F);  // the double depends on the library's log
}

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
