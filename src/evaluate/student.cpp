// Student's t by the incomplete beta function.
#include "evaluate/student.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

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

/// Regularised incomplete beta function I_x(a, b); x + rest = 1, both given so that neither loses digits.
double incomplete_beta(double x, double rest, double a, double b) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(rest, b, a) / b;
}

}  // namespace

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

double student_power(double noncentrality, double df, double critical) {
  // T = (Z + noncentrality) / u, and u = sqrt(chi^2 / df) has the density below: Simpson's rule over all of it that
  // counts.
  constexpr int steps = 2000;
  const double reach = 10 / std::sqrt(2 * df), from = std::max(0.0, 1 - reach), width = (1 + reach - from) / steps;
  const double log_unit = std::log(2) + df / 2 * std::log(df / 2) - std::lgamma(df / 2);
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double u = from + i * width;
    const double power_of_u = df == 1 ? 0 : u > 0 ? (df - 1) * std::log(u) : -std::numeric_limits<double>::infinity();
    const double density = std::exp(log_unit + power_of_u - df * u * u / 2);
    sum += (i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2) * density * normal_cdf(noncentrality - critical * u);
  }
  return sum * width / 3;
}

double normal_cdf(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

}  // namespace chargpt
