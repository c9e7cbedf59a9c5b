// Means and differences over seeds, with what can be said of them.
#include "evaluate/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "evaluate/split_loss.h"
#include "evaluate/student.h"

namespace chargpt {
namespace {

constexpr double power = 0.8;

/// What is estimated from: each seed's mean, and the tenths of the text averaged over the seeds.
struct SeedLosses {
  std::vector<double> means;   ///< (K)
  std::vector<double> tenths;  ///< tenths_of()
  std::size_t tokens = 0;
};

void check_pairs(std::size_t tokens, std::size_t others) {
  if (tokens != others)
    throw Error(ExitCode::internal, "losses of ", tokens, " and of ", others, " tokens do not pair");
}

SeedLosses seed_losses(std::span<const std::vector<float>> losses, const TokenView& text) {
  if (losses.empty() || losses.front().empty()) throw Error(ExitCode::internal, "statistics of no losses");
  SeedLosses result{.means = {}, .tenths = {}, .tokens = losses.front().size()};
  for (const std::vector<float>& seed : losses) {
    check_pairs(result.tokens, seed.size());
    result.means.push_back(mean_loss(seed));
    const std::vector<double> tenths = tenths_of(seed, text);
    result.tenths.resize(tenths.size());
    for (std::size_t i = 0; i < tenths.size(); ++i) result.tenths[i] += tenths[i] / static_cast<double>(losses.size());
  }
  return result;
}

std::optional<double> deviation_of(const std::vector<double>& means, double mean) {
  if (means.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double seed_mean : means) squares += (seed_mean - mean) * (seed_mean - mean);
  return std::sqrt(squares / static_cast<double>(means.size() - 1));
}

MeanEstimate estimate(const SeedLosses& losses, std::int64_t comparisons) {
  const auto K = static_cast<double>(losses.means.size()), pairs = static_cast<double>(comparisons);
  MeanEstimate result{.mean = std::accumulate(losses.means.begin(), losses.means.end(), 0.0) / K};
  result.tenths = losses.tenths;
  if (!std::isfinite(result.mean)) return result;
  result.deviation = deviation_of(losses.means, result.mean);
  if (!result.deviation) return result;
  const double error = *result.deviation / std::sqrt(K);
  const double half = error == 0 ? 0 : student_critical(0.05 / pairs, K - 1) * error;
  result.ci95 = {result.mean - half, result.mean + half};
  result.p = result.mean == 0 ? 1 : std::min(1.0, pairs * student_p(std::abs(result.mean) / error, K - 1));
  return result;
}

}  // namespace

MeanEstimate mean_over_seeds(std::span<const std::vector<float>> losses, std::int64_t comparisons) {
  return estimate(seed_losses(losses, {}), comparisons);
}

MeanEstimate paired_difference(std::span<const std::vector<float>> a, std::span<const std::vector<float>> b,
                               std::int64_t comparisons, const TokenView& text) {
  if (a.size() != b.size()) throw Error(ExitCode::internal, a.size(), " and ", b.size(), " seeds do not pair");
  SeedLosses difference = seed_losses(a, text);
  const SeedLosses other = seed_losses(b, text);
  check_pairs(difference.tokens, other.tokens);
  for (std::size_t k = 0; k < other.means.size(); ++k) difference.means[k] -= other.means[k];
  for (std::size_t i = 0; i < other.tenths.size(); ++i) difference.tenths[i] -= other.tenths[i];
  return estimate(difference, comparisons);
}

std::optional<double> shown_difference(const SeedsDesign& design) {
  if (design.seeds < 2) return std::nullopt;
  const auto df = static_cast<double>(design.seeds - 1);
  const double critical = student_critical(0.05 / static_cast<double>(design.comparisons), df);
  double low = 0, high = 4 * critical + 4;  // in standard errors
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (student_power(middle, df, critical) < power ? low : high) = middle;
  }
  return high * design.deviation / std::sqrt(df + 1);
}

std::optional<std::int64_t> seeds_to_show(double difference, double deviation, std::int64_t comparisons) {
  constexpr std::int64_t most_seeds = 1000;
  const auto enough = [&](std::int64_t seeds) {
    return *shown_difference({.seeds = seeds, .deviation = deviation, .comparisons = comparisons}) <= difference;
  };
  if (!enough(most_seeds)) return std::nullopt;
  std::int64_t few = 1, many = 2;
  while (!enough(many)) few = std::exchange(many, std::min(2 * many, most_seeds));
  while (many - few > 1) {
    const std::int64_t middle = (few + many) / 2;
    (enough(middle) ? many : few) = middle;
  }
  return many;
}

}  // namespace chargpt
