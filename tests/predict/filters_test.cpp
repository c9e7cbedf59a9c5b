// The sampling filters over rows small enough to check by eye, and the draws against exact probabilities.
#include "predict/filters.h"

#include "failure.h"

namespace chargpt {
namespace {

constexpr float gone = -std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();
using Row = std::vector<float>;

Row logits_of(const std::vector<double>& probabilities) {
  Row row;
  for (const double p : probabilities) row.push_back(static_cast<float>(std::log(p)));
  return row;
}

/// Ids whose logit is not removed.
Ids kept(const Row& row) {
  Ids ids;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] != gone) ids.push_back(static_cast<std::int64_t>(i));
  return ids;
}

/// A row as it is drawn from.
Row filtered(const SampleConfig& sample, Row row) {
  RandomStream random(1, Purpose::sampling);
  Sampler(sample, std::ssize(row)).choose(row, random);
  return row;
}

Ids kept_by(SampleConfig sample, const Row& row) {
  sample.temperature = 1;
  return kept(filtered(sample, row));
}

/// Pearson's statistic of `draws` draws against the exact probabilities; -1 where a symbol of probability 0 was drawn.
double chi_square(const SampleConfig& sample, const Row& row, const std::vector<double>& expected, int draws) {
  RandomStream random(1337, Purpose::sampling);
  std::vector<int> counts(row.size());
  for (int i = 0; i < draws; ++i) {
    Row copy = row;
    ++counts[static_cast<std::size_t>(Sampler(sample, std::ssize(copy)).choose(copy, random))];
  }
  double statistic = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (expected[i] == 0 && counts[i] > 0) return -1;
    if (expected[i] > 0) statistic += std::pow(counts[i] - draws * expected[i], 2) / (draws * expected[i]);
  }
  return statistic;
}

}  // namespace

TEST_CASE("temperature divides the logits below the largest") {
  CHECK(filtered({.temperature = 0.5}, {1, 3, 2}) == Row{-4, 0, -2});
  CHECK(filtered({.temperature = 2}, {1, 3, gone}) == Row{-1, 0, gone});
}

TEST_CASE("no temperature overflows") {
  CHECK(filtered({.temperature = 1e-300}, {-1e30f, 1e30f, 9e29f}) == Row{gone, 0, gone});
  CHECK(filtered({.temperature = 1000}, {-1e30f, 1e30f}) == Row{-2e27f, 0});
}

TEST_CASE("top_k keeps exactly k, equal logits lowest id first") {
  const Row row = {2, 5, 2, 5, 2};
  CHECK(kept_by({.top_k = 1}, row) == Ids{1});
  CHECK(kept_by({.top_k = 2}, row) == Ids{1, 3});
  CHECK(kept_by({.top_k = 3}, row) == Ids{0, 1, 3});
  CHECK(kept_by({.top_k = 4}, row) == Ids{0, 1, 2, 3});
}

TEST_CASE("top_k of 0, of the vocabulary or above keeps all") {
  const Row row = {1, 2, 3};
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{3}, std::int64_t{4}, INT64_MAX})
    CHECK(kept_by({.top_k = k}, row) == Ids{0, 1, 2});
}

TEST_CASE("top_p keeps the shortest run of most probable symbols that holds p") {
  const Row row = logits_of({0.1, 0.4, 0.3, 0.2});
  CHECK(kept_by({.top_p = 0}, row) == Ids{1});
  CHECK(kept_by({.top_p = 0.39}, row) == Ids{1});
  CHECK(kept_by({.top_p = 0.41}, row) == Ids{1, 2});
  CHECK(kept_by({.top_p = 0.69}, row) == Ids{1, 2});
  CHECK(kept_by({.top_p = 0.71}, row) == Ids{1, 2, 3});
  CHECK(kept_by({.top_p = 0.91}, row) == Ids{0, 1, 2, 3});
  CHECK(kept_by({.top_p = 1}, row) == Ids{0, 1, 2, 3});
}

TEST_CASE("top_p at an exact edge keeps no symbol more, equals lowest id first") {
  const Row row = {0, 0, 0, 0};
  CHECK(kept_by({.top_p = 0.25}, row) == Ids{0});
  CHECK(kept_by({.top_p = 0.5}, row) == Ids{0, 1});
  CHECK(kept_by({.top_p = 0.51}, row) == Ids{0, 1, 2});
}

TEST_CASE("min_p drops what is below its part of the largest probability") {
  const Row row = logits_of({0.05, 0.5, 0.25, 0.2});
  CHECK(kept_by({.min_p = 0}, row) == Ids{0, 1, 2, 3});
  CHECK(kept_by({.min_p = 0.09}, row) == Ids{0, 1, 2, 3});
  CHECK(kept_by({.min_p = 0.11}, row) == Ids{1, 2, 3});
  CHECK(kept_by({.min_p = 0.45}, row) == Ids{1, 2});
  CHECK(kept_by({.min_p = 1}, {2, 5, 5, 4}) == Ids{1, 2});
}

TEST_CASE("filters leave removed symbols removed and a single symbol alone") {
  CHECK(kept_by({.top_k = 2}, {gone, 1, gone}) == Ids{1});
  CHECK(kept_by({.top_p = 0.99}, {gone, 1, gone}) == Ids{1});
  CHECK(kept_by({.min_p = 0.01}, {gone, 1, gone}) == Ids{1});
  CHECK(kept_by({.top_k = 1}, {-7}) == Ids{0});
  CHECK(kept_by({.top_p = 0}, {-7}) == Ids{0});
}

TEST_CASE("a row with every symbol removed is a bug, not a draw") {
  for (const double temperature : {0.0, 0.5})
    CHECK(error_of([&] {
            filtered({.temperature = temperature, .top_k = 2, .top_p = 0.5, .min_p = 0.5}, {gone, gone, gone});
          }).code == ExitCode::internal);
}

TEST_CASE("logits that are not numbers are reported as divergence") {
  for (const float bad : {nan, inf}) {
    const Row row = {1, bad, 2};
    CHECK(error_of([&] { best_candidates(row, 1); }).code == ExitCode::diverged);
    for (const double temperature : {0.0, 0.5})
      CHECK(error_of([&] { filtered({.temperature = temperature}, row); }).code == ExitCode::diverged);
  }
  CHECK_THROWS_WITH(best_candidates(Row{1, nan}, 1),
                    "the model's output for symbol 1 is not a number; its weights have diverged: use an earlier "
                    "checkpoint, or train with a lower learning rate");
}

TEST_CASE("greedy takes the most probable symbol and draws no number") {
  RandomStream used(5, Purpose::sampling), untouched(5, Purpose::sampling);
  Row row = {0.5f, 2, 2, 1};
  CHECK(Sampler({.temperature = 0}, std::ssize(row)).choose(row, used) == 1);
  CHECK(used.next() == untouched.next());
}

TEST_CASE("the best candidates come with their logarithms of probability, equals lowest id first") {
  const std::vector<float> logits{5, 5 + std::log(2.0F), 5};
  const std::vector<Candidate> best = best_candidates(logits, 2);
  REQUIRE(best.size() == 2);
  CHECK(best[0].id == 1);
  CHECK(best[0].log_probability == Approx(std::log(0.5)));
  CHECK(best[1].id == 0);
  CHECK(best[1].log_probability == Approx(std::log(0.25)));
  CHECK(best_candidates(logits, 9).size() == 3);
}

TEST_CASE("a draw takes exactly one uniform number") {
  RandomStream used(5, Purpose::sampling), reference(5, Purpose::sampling);
  Row row = {0, 0};
  CHECK(Sampler({.temperature = 1}, 2).choose(row, used) == (reference.uniform() < 0.5 ? 0 : 1));
  CHECK(used.next() == reference.next());
}

TEST_CASE("draws follow the exact probabilities after the filters") {
  const Row row = logits_of({0.1, 0.4, 0.3, 0.2});
  constexpr int draws = 100000;
  constexpr double limit = 16.27;  // chi-square, 3 degrees of freedom, probability 0.001
  const auto statistic = [&](const SampleConfig& sample, const std::vector<double>& expected) {
    return chi_square(sample, row, expected, draws);
  };
  const auto in_limits = [&](double value) { return value >= 0 && value < limit; };
  CHECK(in_limits(statistic({.temperature = 1}, {0.1, 0.4, 0.3, 0.2})));
  CHECK(in_limits(statistic({.temperature = 0.5}, {1 / 30., 16 / 30., 9 / 30., 4 / 30.})));
  CHECK(in_limits(statistic({.temperature = 1, .top_k = 2}, {0, 4 / 7., 3 / 7., 0})));
  CHECK(in_limits(statistic({.temperature = 1, .top_p = 0.8}, {0, 4 / 9., 3 / 9., 2 / 9.})));
  CHECK(in_limits(statistic({.temperature = 1, .min_p = 0.6}, {0, 4 / 7., 3 / 7., 0})));
  // 0.75 is held by three; of 0.9, what min_p alone would leave, it would be by two.
  CHECK(in_limits(statistic({.temperature = 1, .top_p = 0.75, .min_p = 0.3}, {0, 4 / 9., 3 / 9., 2 / 9.})));
  // Squared: 16, 9, 4, 1 of 30; three are kept by top_k, of these two hold 0.8, and min_p keeps both.
  CHECK(in_limits(statistic({.temperature = 0.5, .top_k = 3, .top_p = 0.8, .min_p = 0.5}, {0, 16 / 25., 9 / 25., 0})));
}

}  // namespace chargpt
