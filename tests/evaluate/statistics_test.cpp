// Intervals and comparisons: cases with a known answer. How often they hold the truth: coverage_test.cpp.
#include <cmath>
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

Losses normal_losses(Normal& normal, int count) {
  Losses losses(static_cast<std::size_t>(count));
  for (float& loss : losses) loss = static_cast<float>(normal());
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

TEST_CASE("the power of a t test has the figures of the tables") {  // SciPy 1.x: nct.sf(critical, df, noncentrality)
  CHECK(student_power(0, 1, 12.706204736174694) == Approx(0.025).epsilon(1e-7));
  CHECK(student_power(2, 1, 12.706204736174694) == Approx(0.1252234974982893).epsilon(1e-7));
  CHECK(student_power(3, 2, 4.302652729749464) == Approx(0.38738935020066795).epsilon(1e-7));
  CHECK(student_power(5, 4, 2.7764451051977934) == Approx(0.9548372639143452).epsilon(1e-7));
  CHECK(student_power(2.8, 30, 2.0422724563012373) == Approx(0.7732033816599488).epsilon(1e-7));
  CHECK(student_power(1, 9, -0.5) == Approx(0.9300932018383389).epsilon(1e-7));
}

TEST_CASE("the difference that is shown in 80 of 100 comparisons has the figures of the noncentral t") {
  // SciPy 1.x: the d with nct.sf(t.isf(0.025 / pairs, K - 1), K - 1, d) = 0.8, divided by sqrt(K)
  const auto shown = [](std::int64_t seeds, std::int64_t pairs) {
    return *shown_difference({.seeds = seeds, .deviation = 1, .comparisons = pairs});
  };
  CHECK(shown(2, 1) == Approx(11.549888435882329).epsilon(1e-6));
  CHECK(shown(3, 1) == Approx(3.264043549819916).epsilon(1e-6));
  CHECK(shown(5, 1) == Approx(1.6819972822157487).epsilon(1e-6));
  CHECK(shown(5, 3) == Approx(2.2916492051410446).epsilon(1e-6));
  CHECK(shown(10, 15) == Approx(1.5761172112517017).epsilon(1e-6));
  CHECK_FALSE(shown_difference({.seeds = 1, .deviation = 1}));
  CHECK(seeds_to_show(1.6820, 1, 1) == 5);
  CHECK(seeds_to_show(1.6819, 1, 1) == 6);
  CHECK(seeds_to_show(100, 1, 1) == 2);
  CHECK_FALSE(seeds_to_show(0.01, 1, 1));
}

TEST_CASE("parts hold every loss once, of as equal a length as there can be") {
  Losses losses(10'000);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = static_cast<float>(i);
  const std::vector<double> parts = part_means(losses);
  REQUIRE(parts.size() == 4096);
  CHECK(parts[0] == 0.5);  // 0 and 1
  CHECK(parts[1] == 2.5);  // 2 and 3
  CHECK(parts[2] == 5);    // 4 to 6
  CHECK(parts.back() == 9998);
  CHECK(part_means(Losses{1, 2, 3}) == std::vector<double>{1, 2, 3});
}

TEST_CASE("the spread of a text's mean has the figures of the reference") {
  // scripts/reference/intervals.py: the same mixture in NumPy and SciPy, with other code.
  Losses losses;
  for (int i = 0; i < 40'000; ++i)
    losses.push_back(static_cast<float>(i * 7919 % 1000) / 1000 +
                     0.05f * static_cast<float>(i / 500 * (i / 500) * 7 % 11));
  const Confidence ci95 = mean_interval(losses);
  REQUIRE(ci95.interval);
  CHECK(ci95.interval->low == Approx(0.693412).epsilon(1e-5));
  CHECK(ci95.interval->high == Approx(0.899338).epsilon(1e-5));
  const MeanSpread spread(part_means(losses), losses.size());
  CHECK(spread.p(spread.half_width(0.05)) == Approx(0.05));
  CHECK(spread.p(spread.half_width(0.001)) == Approx(0.001));
}

TEST_CASE("a constant loss has an interval of no width") {
  const Confidence ci95 = mean_interval(Losses(100'000, 1.5f));
  REQUIRE(ci95.interval);
  CHECK(ci95.interval->low == 1.5);
  CHECK(ci95.interval->high == 1.5);
}

TEST_CASE("the interval of a loss does not go below 0") {
  Losses losses(10'000, 0.0f);
  losses[5000] = 1000;
  REQUIRE(mean_interval(losses).interval);
  CHECK(mean_interval(losses).interval->low == 0);
}

TEST_CASE("losses that change slowly have a wider interval than the same ones shuffled") {
  Normal normal(2);
  const Losses independent = normal_losses(normal, 100'000);
  Losses slow;
  for (int i = 0; i < 1000; ++i) slow.insert(slow.end(), 100, independent[static_cast<std::size_t>(i)]);
  const auto width = [](const Confidence& ci95) { return ci95.interval->high - ci95.interval->low; };
  CHECK(width(mean_interval(slow)) > 5 * width(mean_interval(independent)));
}

TEST_CASE("nothing is said of a text that is too short, or of losses that are not numbers") {
  CHECK(mean_interval(Losses(9'999, 1.0f)).reason ==
        "the text is too short: 9999 losses, and 10000 are the fewest that tell");
  CHECK(mean_interval({}).reason.find(": 0 losses") != std::string::npos);
  CHECK(mean_interval(Losses(20'000, std::numeric_limits<float>::quiet_NaN())).reason == "a loss is not finite");
  CHECK(mean_interval(Losses(20'000, std::numeric_limits<float>::infinity())).reason == "a loss is not finite");
}

TEST_CASE("one seed speaks of these weights only, and not of other seeds") {
  Normal normal(6);
  const Losses losses = normal_losses(normal, 20'000);
  const MeanEstimate estimate = mean_over_seeds(std::vector<Losses>{losses});
  CHECK(estimate.weights_only);
  CHECK_FALSE(estimate.deviation);
  CHECK_FALSE(estimate.this_text.ci95.interval);
  CHECK_FALSE(estimate.this_text.p);
  CHECK(estimate.this_text.ci95.reason == "one seed does not tell how seeds differ");
  const double half = MeanSpread(part_means(losses), losses.size()).half_width(0.05);
  CHECK(estimate.more_text.ci95.interval->high == Approx(estimate.mean + half));
}

TEST_CASE("on this very text the interval is Student's over seeds") {
  const MeanEstimate estimate = mean_over_seeds(std::vector<Losses>{Losses(100, 1), Losses(100, 3)});
  CHECK(estimate.mean == Approx(2));
  CHECK(*estimate.deviation == Approx(std::sqrt(2)));
  CHECK(estimate.this_text.ci95.interval->low == Approx(2 - 12.706204736));  // standard error 1, one degree of freedom
  CHECK(estimate.this_text.ci95.interval->high == Approx(2 + 12.706204736));
  CHECK(*estimate.this_text.p == Approx(0.2951672353));
  CHECK_FALSE(estimate.weights_only);
  CHECK_FALSE(estimate.more_text.p);  // 100 characters
}

TEST_CASE("on more text the seeds' part and the text's part count, each squared") {
  Normal normal(7);
  std::vector<Losses> losses(3, normal_losses(normal, 20'000));
  for (float& loss : losses[1]) loss += 0.03f;
  for (float& loss : losses[2]) loss -= 0.01f;
  const MeanEstimate estimate = mean_over_seeds(losses);
  const auto half = [](const Claim& claim) { return (claim.ci95.interval->high - claim.ci95.interval->low) / 2; };
  const double text = MeanSpread(part_means(losses[0]), 20'000).half_width(0.05);
  CHECK(half(estimate.more_text) == Approx(std::hypot(half(estimate.this_text), text)).epsilon(1e-6));
}

TEST_CASE("p is the probability at which the interval just reaches 0, for all pairs together") {
  for (const std::int64_t pairs : {1, 3}) {
    Normal normal(4);
    std::vector<Losses> losses;
    for (int seed = 0; seed < 3; ++seed) losses.push_back(normal_losses(normal, 20'000));
    for (const auto claim : {&MeanEstimate::this_text, &MeanEstimate::more_text}) {
      const double low = (mean_over_seeds(losses, pairs).*claim).ci95.interval->low;
      std::vector<Losses> shifted = losses;
      for (Losses& row : shifted)
        for (float& loss : row) loss -= static_cast<float>(low);
      CHECK(*(mean_over_seeds(shifted, pairs).*claim).p == Approx(0.05).epsilon(1e-3));
    }
  }
}

TEST_CASE("a difference is paired: what seeds and texts have in common cancels") {
  Normal normal(5);
  std::vector<Losses> a, b;
  for (int seed = 0; seed < 3; ++seed) {
    Losses losses = normal_losses(normal, 20'000);
    a.push_back(losses);
    for (float& loss : losses) loss += 0.25f + 0.001f * static_cast<float>(normal());
    b.push_back(losses);
  }
  const auto width = [](const Claim& claim) { return claim.ci95.interval->high - claim.ci95.interval->low; };
  const MeanEstimate difference = paired_difference(a, b);
  CHECK(difference.mean == Approx(-0.25).margin(0.001));
  CHECK(width(difference.this_text) < 0.002);
  CHECK(width(difference.more_text) < 0.002);
  CHECK(*difference.this_text.p < 1e-4);
  CHECK(*difference.more_text.p < 1e-4);
  CHECK(width(mean_over_seeds(a).more_text) > 0.01);
  const MeanEstimate reversed = paired_difference(b, a);
  CHECK(reversed.mean == Approx(-difference.mean));
  CHECK(*reversed.more_text.p == Approx(*difference.more_text.p));
}

TEST_CASE("a run compared with itself differs by nothing") {
  const std::vector<Losses> a(2, Losses(20'000, 1.5f));
  const MeanEstimate difference = paired_difference(a, a);
  CHECK(difference.mean == 0);
  CHECK(*difference.this_text.p == 1);
  CHECK(*difference.more_text.p == 1);
  CHECK(difference.more_text.ci95.interval->high == 0);
}

TEST_CASE("losses that do not pair are refused") {
  const std::vector<Losses> one = {Losses(30, 1)}, two = {Losses(30, 1), Losses(30, 1)}, longer = {Losses(31, 1)};
  CHECK_THROWS_AS(paired_difference(one, two), Error);
  CHECK_THROWS_AS(paired_difference(one, longer), Error);
  CHECK_THROWS_AS(mean_over_seeds({}), Error);
  CHECK_THROWS_AS(mean_over_seeds(std::vector<Losses>{{}}), Error);
}

TEST_CASE("nothing is claimed of losses that are not numbers") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const MeanEstimate estimate = mean_over_seeds(std::vector<Losses>{Losses(20'000, 1), Losses(20'000, nan)});
  CHECK_FALSE(estimate.this_text.ci95.interval);
  CHECK_FALSE(estimate.more_text.ci95.interval);
  CHECK(estimate.this_text.ci95.reason == "a loss is not finite");
}

}  // namespace chargpt
