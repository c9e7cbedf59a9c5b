// Means and differences over seeds and text, with what can be claimed of them.
#include "evaluate/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "evaluate/student.h"

namespace chargpt {
namespace {

constexpr double power = 0.8;

/// What the claims are made from: each seed's mean, and the parts of the text averaged over the seeds.
struct SeedLosses {
  std::vector<double> means;  ///< (K)
  std::vector<double> parts;  ///< part_means()
  std::size_t tokens = 0;

  double K() const { return static_cast<double>(means.size()); }
};

double mean_of(std::span<const float> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

void check_pairs(std::size_t tokens, std::size_t others) {
  if (tokens != others)
    throw Error(ExitCode::internal,
                "losses of " + std::to_string(tokens) + " and of " + std::to_string(others) + " tokens do not pair");
}

SeedLosses seed_losses(std::span<const std::vector<float>> losses) {
  if (losses.empty() || losses.front().empty()) throw Error(ExitCode::internal, "statistics of no losses");
  SeedLosses result{.means = {}, .parts = {}, .tokens = losses.front().size()};
  for (const std::vector<float>& seed : losses) {
    check_pairs(result.tokens, seed.size());
    result.means.push_back(mean_of(seed));
    const std::vector<double> parts = part_means(seed);
    result.parts.resize(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) result.parts[i] += parts[i] / static_cast<double>(losses.size());
  }
  return result;
}

std::optional<double> deviation_of(const std::vector<double>& means, double mean) {
  if (means.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double seed_mean : means) squares += (seed_mean - mean) * (seed_mean - mean);
  return std::sqrt(squares / static_cast<double>(means.size() - 1));
}

/// The p at which half_width(p) is `distance`.
template <class HalfWidth>
double p_of_half_width(const HalfWidth& half_width, double distance) {
  double low = 0, high = 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (half_width(middle) > distance ? low : high) = middle;
  }
  return high;
}

/// half_width(p) of an interval that misses with probability p; p(distance) of a mean that is 0 to lie so far from it.
template <class HalfWidth, class P>
Claim claim(double mean, std::int64_t comparisons, const HalfWidth& half_width, const P& p) {
  const auto pairs = static_cast<double>(comparisons);
  return {.ci95 = around(mean, half_width(0.05 / pairs)),
          .p = mean == 0 ? 1 : std::min(1.0, pairs * p(std::abs(mean)))};
}

MeanEstimate estimate(const SeedLosses& losses, std::int64_t comparisons) {
  MeanEstimate result;
  result.mean = std::accumulate(losses.means.begin(), losses.means.end(), 0.0) / losses.K();
  result.deviation = deviation_of(losses.means, result.mean);
  result.weights_only = !result.deviation;
  const double seeds_error = result.deviation.value_or(0) / std::sqrt(losses.K());
  const auto over_seeds = [&](double p) {
    return seeds_error == 0 ? 0 : student_critical(p, losses.K() - 1) * seeds_error;
  };
  const auto p_over_seeds = [&](double distance) { return student_p(distance / seeds_error, losses.K() - 1); };
  if (!std::isfinite(result.mean))
    result.this_text.ci95 = cannot_say("a loss is not finite");
  else if (result.weights_only)
    result.this_text.ci95 = cannot_say("one seed does not tell how seeds differ");
  else
    result.this_text = claim(result.mean, comparisons, over_seeds, p_over_seeds);
  const MeanSpread spread(losses.parts, losses.tokens);
  const auto over_both = [&](double p) { return std::hypot(spread.half_width(p), over_seeds(p)); };
  const auto p_over_both = [&](double distance) {
    return seeds_error == 0 ? spread.p(distance) : p_of_half_width(over_both, distance);
  };
  if (spread.reason().empty())
    result.more_text = claim(result.mean, comparisons, over_both, p_over_both);
  else
    result.more_text.ci95 = cannot_say(spread.reason());
  return result;
}

}  // namespace

MeanEstimate mean_over_seeds(std::span<const std::vector<float>> losses, std::int64_t comparisons) {
  return estimate(seed_losses(losses), comparisons);
}

MeanEstimate paired_difference(std::span<const std::vector<float>> a, std::span<const std::vector<float>> b,
                               std::int64_t comparisons) {
  if (a.size() != b.size())
    throw Error(ExitCode::internal,
                std::to_string(a.size()) + " and " + std::to_string(b.size()) + " seeds do not pair");
  SeedLosses difference = seed_losses(a);
  const SeedLosses other = seed_losses(b);
  check_pairs(difference.tokens, other.tokens);
  for (std::size_t k = 0; k < other.means.size(); ++k) difference.means[k] -= other.means[k];
  for (std::size_t i = 0; i < other.parts.size(); ++i) difference.parts[i] -= other.parts[i];
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
