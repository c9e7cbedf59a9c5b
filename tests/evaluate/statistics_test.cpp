// Intervals over seeds and comparisons: cases with a known answer, and how often they are wrong of equal configs.
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "evaluate/paired.h"
#include "evaluate/split_loss.h"
#include "token_text.h"

namespace chargpt {
namespace {

using Losses = std::vector<float>;

class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed, Purpose::sampling, 99) {}
  /// Box and Muller 1958.
  double operator()() {
    return std::sqrt(-2 * std::log(1 - random_.uniform())) * std::cos(2 * std::numbers::pi * random_.uniform());
  }

 private:
  RandomStream random_;
};

using Means = std::vector<double>;  // the mean loss of each seed

/// Means of `configs` that are equal over `seeds`: what a seed has in common, and each
/// config's own spread, which grows from 1 to `widest`.
std::vector<Means> equal_configs(Normal& normal, int configs, int seeds, double widest) {
  std::vector<Means> all(static_cast<std::size_t>(configs));
  for (int seed = 0; seed < seeds; ++seed) {
    const double common = 0.5 * normal();
    for (int i = 0; i < configs; ++i) {
      const double spread = std::pow(widest, static_cast<double>(i) / std::max(1, configs - 1));
      all[static_cast<std::size_t>(i)].push_back(common + spread * normal());
    }
  }
  return all;
}

/// Whether any config is called better than another, as rank_configs() would: the best against each.
bool any_claim(const std::vector<Means>& configs) {
  const auto best =
      std::ranges::min_element(configs, {}, [](const Means& config) { return mean_of_seeds(config).mean; });
  const auto m = std::ssize(configs);
  return std::ranges::any_of(configs, [&](const Means& other) {
    return &other != &*best && paired_difference(other, *best, m * (m - 1) / 2).ci95->low > 0;
  });
}

constexpr int comparisons = 4000;

/// Share of comparisons in which some config is called better.
double claims(int configs, int seeds, double widest) {
  int count = 0;
  for (int i = 0; i < comparisons; ++i) {
    Normal normal(static_cast<std::uint64_t>(i));
    count += static_cast<int>(any_claim(equal_configs(normal, configs, seeds, widest)));
  }
  return static_cast<double>(count) / comparisons;
}

/// Two standard errors of such a share.
double luck(double share) {
  return 2 * std::sqrt(share * (1 - share) / comparisons);
}

}  // namespace

TEST_CASE("Student's t has the figures of the tables") {  // SciPy 1.x: 2 * t.sf(t, df), t.ppf(1 - p / 2, df)
  struct Row {
    double t, df, p;
  };
  const Row tails[] = {{0, 5, 1},
                       {1, 1, 0.5},
                       {2, 1, 0.2951672353008665},
                       {-2, 1, 0.2951672353008665},
                       {2.5, 3, 0.08770664700806556},
                       {0.3, 7.5, 0.7723226585687781},
                       {4, 30, 0.0003818456360837564},
                       {6, 108, 2.6755935849047427e-08},
                       {1.96, 1e6, 0.04999606758526985}};
  for (const auto& [t, df, p] : tails) CHECK(student_p(t, df) == Approx(p).epsilon(1e-8));
  CHECK(student_p(std::numeric_limits<double>::infinity(), 3) == 0);
  const Row critical[] = {{12.706204736174694, 1, 0.05},
                          {2.228138851986274, 10, 0.05},
                          {1.982173483307727, 108, 0.05},
                          {4.272823993011293, 4.5, 0.01},
                          {1.637744353696209, 3, 0.2}};
  for (const auto& [t, df, p] : critical) CHECK(student_critical(p, df) == Approx(t).epsilon(1e-12));
}

TEST_CASE("tenths hold every loss once, of as equal a length as there can be") {
  Losses losses(25);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = static_cast<float>(i);
  const std::vector<double> tenths = tenths_of(losses);
  REQUIRE(tenths.size() == 10);
  CHECK(tenths[0] == 0.5);  // 0 and 1
  CHECK(tenths[1] == 3);    // 2 to 4
  CHECK(tenths.back() == 23);
  CHECK(tenths_of(Losses{1, 2, 3}) == std::vector<double>{1, 2, 3});
  CHECK(tenths_of({}).empty());
}

TEST_CASE("one seed says nothing of other seeds") {
  const MeanEstimate estimate = mean_of_seeds(Means{3});
  CHECK(estimate.mean == 3);
  CHECK_FALSE(estimate.deviation);
  CHECK_FALSE(estimate.ci95);
  CHECK_FALSE(estimate.p);
}

TEST_CASE("the interval is Student's over seeds") {
  const MeanEstimate estimate = mean_of_seeds(Means{1, 3});
  CHECK(estimate.mean == Approx(2));
  CHECK(*estimate.deviation == Approx(std::sqrt(2)));
  CHECK(estimate.ci95->low == Approx(2 - 12.706204736));  // standard error 1, one degree of freedom
  CHECK(estimate.ci95->high == Approx(2 + 12.706204736));
  CHECK(*estimate.p == Approx(0.2951672353));
}

TEST_CASE("p is the probability at which the interval just reaches 0, for all pairs together") {
  for (const std::int64_t pairs : {1, 3}) {
    Normal normal(4);
    Means means{normal(), normal(), normal()};
    const double low = mean_of_seeds(means, pairs).ci95->low;
    for (double& mean : means) mean -= low;
    CHECK(*mean_of_seeds(means, pairs).p == Approx(0.05).epsilon(1e-3));
  }
}

TEST_CASE("p for all pairs together is 1 at most") {
  const Means means = {1, -0.5};  // mean 0.25, standard error 0.75
  CHECK(*mean_of_seeds(means).p == Approx(1 - 2 / std::numbers::pi * std::atan(1.0 / 3)));  // 0.795
  CHECK(*mean_of_seeds(means, 3).p == 1);
}

TEST_CASE("a difference is paired: what seeds have in common cancels") {
  Normal normal(5);
  Means a, b;
  for (int seed = 0; seed < 3; ++seed) {
    a.push_back(normal());
    b.push_back(a.back() + 0.2 + 1e-4 * normal());
  }
  const auto width = [](const MeanEstimate& estimate) { return estimate.ci95->high - estimate.ci95->low; };
  const MeanEstimate difference = paired_difference(a, b);
  CHECK(difference.mean == Approx(-0.2).margin(0.001));
  CHECK(width(difference) < 0.002);
  CHECK(width(mean_of_seeds(a)) > 0.01);
  CHECK(*difference.p < 1e-4);
  const MeanEstimate reversed = paired_difference(b, a);
  CHECK(reversed.mean == Approx(-difference.mean));
  CHECK(*reversed.p == Approx(*difference.p));
}

TEST_CASE("a run compared with itself differs by nothing") {
  const Means a(2, 1.5);
  const MeanEstimate difference = paired_difference(a, a);
  CHECK(difference.mean == 0);
  CHECK(*difference.p == 1);
  CHECK(difference.ci95->high == 0);
}

TEST_CASE("of equal configs at most one comparison in twenty calls one better") {
  CHECK(claims(2, 3, 1) < 0.05 + luck(0.05));
  CHECK(claims(4, 3, 1) < 0.05 + luck(0.05));
  CHECK(claims(4, 3, 4) < 0.05 + luck(0.05));
}

TEST_CASE("of equal configs at most one in twenty is called better, however often more seeds are looked at") {
  int count = 0;
  for (int i = 0; i < comparisons; ++i) {
    Normal normal(static_cast<std::uint64_t>(i));
    std::vector<double> differences;
    std::int64_t look = 0;
    for (const std::size_t seeds : {2, 3, 4, 6, 8, 12, 16, 24}) {  // as someone would who always adds seeds
      while (differences.size() < seeds) differences.push_back(normal());
      if (*mean_of_seeds(differences).p > level_of_look(++look)) continue;
      ++count;
      break;
    }
  }
  const double share = static_cast<double>(count) / comparisons;
  CHECK(share < 0.05 + luck(0.05));
  CHECK(share > 0.04 - luck(0.04));  // the first look alone
}

TEST_CASE("the levels of all looks add up to 5 %") {
  double sum = 0;
  for (std::int64_t look = 1; look <= 60; ++look) sum += level_of_look(look);
  CHECK(level_of_look(1) == 0.04);
  CHECK(level_of_look(2) == 0.005);
  CHECK(sum == Approx(0.05));
}

TEST_CASE("seeds to decide are those with which the same mean and deviation would pass") {
  const MeanEstimate difference{.mean = 0.5, .deviation = 1};
  const auto seeds = seeds_to_decide(difference, 5, 0.005, 1);
  REQUIRE(seeds);
  CHECK(student_p(0.5 * std::sqrt(*seeds), static_cast<double>(*seeds - 1)) <= 0.005);
  CHECK(student_p(0.5 * std::sqrt(*seeds - 1), static_cast<double>(*seeds - 2)) > 0.005);
  CHECK(*seeds_to_decide(difference, 5, 0.005, 6) > *seeds);
  CHECK_FALSE(seeds_to_decide(difference, 4, 0.005, 1));  // too few to know the deviation
  CHECK(seeds_to_decide({.mean = 0.1, .deviation = 1}, 5, 0.005, 1) > 700);
  CHECK_FALSE(seeds_to_decide({.mean = 0.08, .deviation = 1}, 5, 0.005, 1));  // more than 1,000
}

TEST_CASE("losses that do not pair are refused") {
  CHECK_THROWS_AS(paired_difference(Means{1}, Means{1, 1}), Error);
  CHECK_THROWS_AS(mean_of_seeds({}), Error);
}

TEST_CASE("nothing is claimed of losses that are not numbers") {
  const MeanEstimate estimate = mean_of_seeds(Means{1, std::nan("")});
  CHECK_FALSE(estimate.ci95);
  CHECK_FALSE(estimate.p);
}

}  // namespace chargpt
