// The block bootstrap.
#include "evaluate/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "evaluate/student.h"

namespace chargpt {
namespace {

constexpr std::int64_t fewest_blocks = 20;

/// The tail probability whose percentiles have the width of a t interval over `blocks` blocks.
double expanded_tail(double blocks) {
  return normal_cdf(-std::sqrt(blocks / (blocks - 1)) * student_critical(0.05, blocks - 1));
}

/// Linear between the order statistics of `sorted`.
double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double resampled_mean(const BlockSums& blocks, RandomStream& random) {
  double sum = 0, length = 0;
  for (std::size_t i = 0; i < blocks.sums.size(); ++i) {
    const std::size_t drawn = random.below(blocks.sums.size());
    sum += blocks.sums[drawn];
    length += blocks.lengths[drawn];
  }
  return sum / length;
}

}  // namespace

BlockSums block_sums(std::span<const float> losses, std::int64_t block) {
  const std::int64_t n = std::ssize(losses);
  block = std::clamp<std::int64_t>(n / fewest_blocks, 1, std::max<std::int64_t>(block, 1));
  BlockSums blocks;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const auto part =
        losses.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(block, n - begin)));
    blocks.sums.push_back(std::accumulate(part.begin(), part.end(), 0.0));
    blocks.lengths.push_back(static_cast<double>(part.size()));
  }
  return blocks;
}

Interval bootstrap_interval(std::span<const float> losses, std::int64_t block, int resamples, std::uint64_t seed) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const BlockSums blocks = block_sums(losses, block);
  const bool finite =
      std::all_of(blocks.sums.begin(), blocks.sums.end(), [](double sum) { return std::isfinite(sum); });
  if (blocks.sums.size() < 2 || resamples < 1 || !finite) return {unknown, unknown};
  RandomStream random(seed, Purpose::bootstrap);
  std::vector<double> means(static_cast<std::size_t>(resamples));
  std::generate(means.begin(), means.end(), [&] { return resampled_mean(blocks, random); });
  std::sort(means.begin(), means.end());
  const double tail = expanded_tail(static_cast<double>(blocks.sums.size()));
  return {quantile(means, tail), quantile(means, 1 - tail)};
}

}  // namespace chargpt
