#include "train/loss_trend.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chargpt {
namespace {

constexpr std::int64_t memory = 50;         ///< losses that the trend looks back
constexpr std::int64_t fewest_losses = 20;  ///< below which the noise is unknown
constexpr double least_jump = 1;            ///< nats
constexpr double deviations = 6;

}  // namespace

LossTrend followed_by(const LossTrend& trend, double loss) {
  if (!std::isfinite(loss)) return trend;
  const std::int64_t count = trend.count + 1;
  const double weight = 1 / static_cast<double>(std::min(count, memory));
  const double jump = loss - trend.mean;
  return {.mean = trend.mean + weight * jump,
          .variance = (1 - weight) * (trend.variance + weight * jump * jump),
          .count = count};
}

double spike_threshold(const LossTrend& trend) {
  if (trend.count < fewest_losses) return std::numeric_limits<double>::infinity();
  return trend.mean + std::max(least_jump, deviations * std::sqrt(std::max(trend.variance, 0.0)));
}

}  // namespace chargpt
