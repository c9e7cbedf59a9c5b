// Intervals and comparisons: cases with a known answer, and coverage where the truth is known.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "evaluate/interval.h"
#include "evaluate/paired.h"
#include "evaluate/student.h"
#include "test.h"

namespace chargpt {
namespace {

using Losses = std::vector<float>;

class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed, Purpose::bootstrap, 99) {}
  /// Box and Muller 1958.
  double operator()() {
    return std::sqrt(-2 * std::log(1 - random_.uniform())) * std::cos(2 * std::numbers::pi * random_.uniform());
  }

 private:
  RandomStream random_;
};

bool holds(const Interval& interval, double value) {
  return interval.low <= value && value <= interval.high;
}

/// Part of `trials` whose interval holds 0.
double coverage(int trials, const std::function<Interval(Normal&)>& interval) {
  int hits = 0;
  for (int trial = 0; trial < trials; ++trial) {
    Normal normal(static_cast<std::uint64_t>(trial));
    hits += holds(interval(normal), 0);
  }
  return static_cast<double>(hits) / trials;
}

Losses normal_losses(Normal& normal, int count) {
  Losses losses(static_cast<std::size_t>(count));
  for (float& loss : losses) loss = static_cast<float>(normal());
  return losses;
}

Losses one_to_twenty() {
  Losses losses;
  for (int i = 1; i <= 20; ++i) losses.push_back(static_cast<float>(i));
  return losses;
}

}  // namespace

TEST_CASE("Student's t has the figures of the tables") {  // SciPy 1.x: 2 * t.sf(t, df), t.ppf(1 - p / 2, df)
  CHECK(student_p(0, 5) == Approx(1));
  CHECK(student_p(1, 1) == Approx(0.5).epsilon(1e-12));
  CHECK(student_p(2, 1) == Approx(0.2951672353008665).epsilon(1e-12));
  CHECK(student_p(-2, 1) == Approx(0.2951672353008665).epsilon(1e-12));
  CHECK(student_p(2.5, 3) == Approx(0.08770664700806556).epsilon(1e-12));
  CHECK(student_p(0.3, 7.5) == Approx(0.7723226585687781).epsilon(1e-12));
  CHECK(student_p(4, 30) == Approx(0.0003818456360837564).epsilon(1e-12));
  CHECK(student_p(6, 108) == Approx(2.6755935849047427e-08).epsilon(1e-10));
  CHECK(student_p(1.96, 1e6) == Approx(0.04999606758526985).epsilon(1e-8));
  CHECK(student_p(std::numeric_limits<double>::infinity(), 3) == 0);
  CHECK(student_critical(0.05, 1) == Approx(12.706204736174694).epsilon(1e-12));
  CHECK(student_critical(0.05, 10) == Approx(2.228138851986274).epsilon(1e-12));
  CHECK(student_critical(0.05, 108) == Approx(1.982173483307727).epsilon(1e-12));
  CHECK(student_critical(0.01, 4.5) == Approx(4.272823993011293).epsilon(1e-12));
  CHECK(student_critical(0.2, 3) == Approx(1.637744353696209).epsilon(1e-12));
}

TEST_CASE("the normal distribution has the figures of the tables") {
  CHECK(normal_cdf(0) == 0.5);
  CHECK(normal_cdf(1.959963984540054) == Approx(0.975).epsilon(1e-12));
  CHECK(normal_cdf(-1.959963984540054) == Approx(0.025).epsilon(1e-12));
}

TEST_CASE("blocks hold every loss once, the last one short") {
  Losses losses(50);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = static_cast<float>(i);
  const BlockSums blocks = block_sums(losses, 2);
  CHECK(blocks.sums.size() == 25);
  CHECK(blocks.sums[1] == 2 + 3);
  losses.push_back(50);
  const BlockSums with_rest = block_sums(losses, 2);
  CHECK(with_rest.lengths.back() == 1);
  CHECK(with_rest.sums.back() == 50);
}

TEST_CASE("a short text is cut into at least twenty blocks") {
  CHECK(block_sums(Losses(20 * 1024), 1024).sums.size() == 20);
  CHECK(block_sums(Losses(20 * 1024), 1024).lengths[0] == 1024);
  CHECK(block_sums(Losses(2000), 1024).lengths == std::vector<double>(20, 100));
  CHECK(block_sums(Losses(7), 1024).lengths == std::vector<double>(7, 1));
}

TEST_CASE("a constant loss has an interval of no width") {
  const Interval interval = bootstrap_interval(Losses(100'000, 1.5f));
  CHECK(interval.low == 1.5);
  CHECK(interval.high == 1.5);
}

TEST_CASE("independent normal losses have nearly the normal interval") {
  Normal normal(1);
  const Losses losses = normal_losses(normal, 200'000);
  const Interval interval = bootstrap_interval(losses, 100);
  double mean = 0;
  for (const float loss : losses) mean += loss / 200'000.0;
  const double half = 1.96 / std::sqrt(200'000.0);
  CHECK(interval.low == Approx(mean - half).margin(0.08 * half));
  CHECK(interval.high == Approx(mean + half).margin(0.08 * half));
}

TEST_CASE("losses that depend on their neighbours have a wider interval than their number suggests") {
  Normal normal(2);
  Losses independent = normal_losses(normal, 1000), repeated;
  for (const float loss : independent) repeated.insert(repeated.end(), 16, loss);
  const auto width = [](const Interval& interval) { return interval.high - interval.low; };
  CHECK(width(bootstrap_interval(repeated, 16 * 8)) == Approx(width(bootstrap_interval(independent, 8))));
  CHECK(width(bootstrap_interval(repeated, 16 * 8)) > 3 * width(bootstrap_interval(repeated, 1)));
}

TEST_CASE("the interval repeats with its seed and is unknown where there is nothing to resample") {
  Normal normal(3);
  const Losses losses = normal_losses(normal, 5000);
  CHECK(bootstrap_interval(losses, 64).low == bootstrap_interval(losses, 64).low);
  CHECK(bootstrap_interval(losses, 64, 2000, 1).low != bootstrap_interval(losses, 64, 2000, 2).low);
  CHECK(std::isnan(bootstrap_interval({}, 64).low));
  CHECK(std::isnan(bootstrap_interval(Losses{1}, 64).high));
  CHECK(std::isnan(bootstrap_interval(Losses(100, std::numeric_limits<float>::quiet_NaN())).low));
  CHECK(std::isnan(bootstrap_interval(Losses(100, std::numeric_limits<float>::infinity())).low));
}

TEST_CASE("one seed gives the t interval over blocks and speaks of these weights only") {
  const MeanEstimate estimate = mean_over_seeds(std::vector<Losses>{one_to_twenty()}, 1);
  CHECK(estimate.mean == Approx(10.5));
  CHECK(estimate.resolvable == Approx(2.093024 * std::sqrt(35.0 / 20)));  // variance of 1..20 is 35
  CHECK(estimate.ci95.low == Approx(10.5 - estimate.resolvable));
  CHECK(estimate.ci95.high == Approx(10.5 + estimate.resolvable));
  CHECK(estimate.weights_only);
}

TEST_CASE("seeds that differ on a text that does not give the t interval over seeds") {
  const MeanEstimate estimate = mean_over_seeds(std::vector<Losses>{Losses(100, 1), Losses(100, 3)}, 1);
  CHECK(estimate.mean == Approx(2));
  CHECK(estimate.resolvable == Approx(12.706204736));  // standard error 1, one degree of freedom
  CHECK(estimate.p == Approx(0.2951672353));
  CHECK_FALSE(estimate.weights_only);
}

TEST_CASE("seeds and text together give an interval from both variances") {
  // By the mean squares of a two-way table, in NumPy: V_seeds = 0.181111, V_text = 0.456199; t(2) = 4.302653, t(19)
  // = 2.093024.
  const Losses ten[] = {
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 2, 5, 5, 5, 7, 9, 9, 9, 13}, {0, 3, 2, 4, 6, 5, 7, 6, 10, 9}};
  std::vector<Losses> losses;
  for (Losses row : ten) {
    row.insert(row.end(), row.begin(), row.begin() + 10);
    losses.push_back(row);
  }
  const MeanEstimate estimate = mean_over_seeds(losses, 1);
  CHECK(estimate.mean == Approx(5.766666666666667));
  CHECK(estimate.resolvable == Approx(std::sqrt(4.302653 * 4.302653 * 0.181111 + 2.093024 * 2.093024 * 0.456199)));
}

TEST_CASE("p is the probability at which the interval just reaches 0") {
  Normal normal(4);
  std::vector<Losses> losses;
  for (int seed = 0; seed < 3; ++seed) losses.push_back(normal_losses(normal, 30));
  const double shift = mean_over_seeds(losses, 1).resolvable - mean_over_seeds(losses, 1).mean;
  for (Losses& row : losses)
    for (float& loss : row) loss += static_cast<float>(shift);
  CHECK(mean_over_seeds(losses, 1).p == Approx(0.05).epsilon(1e-4));
}

TEST_CASE("a difference is paired: what seeds and texts have in common cancels") {
  Normal normal(5);
  std::vector<Losses> a, b;
  for (int seed = 0; seed < 3; ++seed) {
    Losses losses = normal_losses(normal, 4000);
    a.push_back(losses);
    for (float& loss : losses) loss += 0.25f + 0.001f * static_cast<float>(normal());
    b.push_back(losses);
  }
  const MeanEstimate difference = paired_difference(a, b, 64);
  CHECK(difference.mean == Approx(-0.25).margin(0.001));
  CHECK(difference.resolvable < 0.001);
  CHECK(difference.p < 1e-4);
  CHECK(mean_over_seeds(a, 64).resolvable > 0.01);
  const MeanEstimate reversed = paired_difference(b, a, 64);
  CHECK(reversed.mean == Approx(-difference.mean));
  CHECK(reversed.p == Approx(difference.p));
}

TEST_CASE("a run compared with itself differs by nothing") {
  const std::vector<Losses> a = {one_to_twenty()};
  const MeanEstimate difference = paired_difference(a, a);
  CHECK(difference.mean == 0);
  CHECK(difference.p == 1);
  CHECK(difference.resolvable == 0);
}

TEST_CASE("losses that do not pair are refused") {
  const std::vector<Losses> one = {Losses(30, 1)}, two = {Losses(30, 1), Losses(30, 1)}, longer = {Losses(31, 1)};
  CHECK_THROWS_AS(paired_difference(one, two), Error);
  CHECK_THROWS_AS(paired_difference(one, longer), Error);
  CHECK_THROWS_AS(mean_over_seeds({}), Error);
  CHECK_THROWS_AS(mean_over_seeds(std::vector<Losses>{{}}), Error);
}

TEST_CASE("nothing is claimed of a single value or of losses that are not numbers") {
  CHECK(std::isnan(mean_over_seeds(std::vector<Losses>{{1.f}}).ci95.low));
  CHECK(std::isnan(mean_over_seeds(std::vector<Losses>{{1.f}, {2.f}}).p));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(mean_over_seeds(std::vector<Losses>{Losses(40, nan)}).resolvable));
}

TEST_CASE("the bootstrap interval holds the true mean as often as it says", "[long]") {
  // Losses that remember their neighbours (first-order autoregression, 0.8), in blocks that are long beside that
  // memory.
  const auto interval = [](Normal& normal) {
    Losses losses(static_cast<std::size_t>(110 * 64));
    double state = normal() / std::sqrt(1 - 0.64);
    for (float& loss : losses) loss = static_cast<float>(state = 0.8 * state + normal());
    return bootstrap_interval(losses, 64, 1000);
  };
  CHECK(coverage(2000, interval) == Approx(0.95).margin(0.02));
}

TEST_CASE("the bootstrap interval of a short text is not too narrow", "[long]") {
  const auto interval = [](Normal& normal) { return bootstrap_interval(normal_losses(normal, 20), 1024, 1000); };
  CHECK(coverage(4000, interval) == Approx(0.95).margin(0.015));
}

TEST_CASE("the interval over few seeds holds the true difference as often as it says", "[long]") {
  // (spread of seeds, of the text, of the rest) in units of a block's loss.
  struct Spread {
    double seeds, text, rest;
  };
  for (const Spread spread : {Spread{0.3, 1, 0.5}, Spread{1, 0.1, 0.1}, Spread{0, 1, 0}, Spread{0, 0, 1}})
    for (const int seeds : {2, 3, 5}) {
      const auto interval = [&](Normal& normal) {
        const Losses text = normal_losses(normal, 60);
        std::vector<Losses> losses;
        for (int seed = 0; seed < seeds; ++seed) {
          const double shift = spread.seeds * normal();
          Losses row;
          for (const float block : text)
            row.push_back(static_cast<float>(shift + spread.text * block + spread.rest * normal()));
          losses.push_back(row);
        }
        return mean_over_seeds(losses, 1).ci95;
      };
      INFO("seeds " << seeds << ", spreads " << spread.seeds << " " << spread.text << " " << spread.rest);
      CHECK(coverage(1000, interval) > 0.94);
    }
}

}  // namespace chargpt
