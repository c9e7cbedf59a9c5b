#include "evaluate/paired.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"

namespace chargpt {
namespace {

/// Continued fraction of the incomplete beta function, from the front (modified Lentz). Source: DLMF 8.17.22.
double beta_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  const auto next = [&](double term) {
    d = 1 / away_from_zero(1 + term * d);
    c = away_from_zero(1 + term / c);
    fraction *= c * d;
    return c * d;
  };
  for (int m = 1; m <= 10000; ++m) {
    next(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    const double change = next(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(change - 1) < 1e-15) break;
  }
  return fraction;
}

/// Regularised incomplete beta function I_x(a, b); x + rest = 1, both passed so that neither loses digits.
double incomplete_beta(double x, double rest, double a, double b) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(rest, b, a) / b;
}

}  // namespace

MeanEstimate mean_of_seeds(std::span<const double> means, std::int64_t comparisons) {
  if (means.empty()) throw Error(ExitCode::internal, "statistics need at least one seed");
  const auto K = static_cast<double>(means.size()), pairs = static_cast<double>(comparisons);
  MeanEstimate result{.mean = std::accumulate(means.begin(), means.end(), 0.0) / K};
  if (!std::isfinite(result.mean) || means.size() < 2) return result;
  double squares = 0;
  for (const double mean : means) squares += (mean - result.mean) * (mean - result.mean);
  result.deviation = std::sqrt(squares / (K - 1));
  const double error = *result.deviation / std::sqrt(K);
  const double half = error == 0 ? 0 : student_critical(0.05 / pairs, K - 1) * error;
  result.ci95 = {result.mean - half, result.mean + half};
  result.p = result.mean == 0 ? 1 : std::min(1.0, pairs * student_p(std::abs(result.mean) / error, K - 1));
  return result;
}

MeanEstimate paired_difference(std::span<const double> a, std::span<const double> b, std::int64_t comparisons) {
  if (a.size() != b.size()) throw Error(ExitCode::internal, a.size(), " and ", b.size(), " seeds cannot be paired");
  std::vector<double> differences(a.begin(), a.end());
  for (std::size_t k = 0; k < b.size(); ++k) differences[k] -= b[k];
  return mean_of_seeds(differences, comparisons);
}

double level_of_look(std::int64_t number) {
  return number <= 1 ? first_look_level : 0.01 / std::exp2(static_cast<double>(number - 1));
}

std::optional<std::int64_t> seeds_to_decide(const MeanEstimate& difference, std::int64_t seeds, double level,
                                            std::int64_t comparisons) {
  constexpr std::int64_t fewest = 5, most = 1000;
  if (seeds < fewest || !difference.deviation || difference.mean == 0) return std::nullopt;
  const double effect = std::abs(difference.mean) / *difference.deviation;
  for (std::int64_t n = seeds; n <= most; ++n) {
    const auto K = static_cast<double>(n);
    if (static_cast<double>(comparisons) * student_p(effect * std::sqrt(K), K - 1) <= level) return n;
  }
  return std::nullopt;
}

// ---- Student's t, by the incomplete beta function

double student_p(double t, double df) {
  if (std::isnan(t) || std::isnan(df)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(t)) return 0;
  const double square = t * t;
  return incomplete_beta(df / (df + square), square / (df + square), df / 2, 0.5);
}

double student_critical(double p, double df) {
  double low = 0, high = 1;
  while (student_p(high, df) > p) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_p(middle, df) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace chargpt
