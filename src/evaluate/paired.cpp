// Means and differences over seeds and text, with what can be claimed of them.
#include "evaluate/paired.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"
#include "evaluate/student.h"

namespace chargpt {
namespace {

/// Block sums of every seed; K rows of B.
struct SeedBlocks {
  std::vector<std::vector<double>> sums;
  std::vector<double> lengths;

  double K() const { return static_cast<double>(sums.size()); }
  double B() const { return static_cast<double>(lengths.size()); }
  double tokens() const { return std::accumulate(lengths.begin(), lengths.end(), 0.0); }
};

struct Variance {
  double value = 0, df = 1;
};

SeedBlocks seed_blocks(std::span<const std::vector<float>> losses, std::int64_t block) {
  if (losses.empty() || losses.front().empty()) throw Error(ExitCode::internal, "statistics of no losses");
  SeedBlocks blocks;
  for (const std::vector<float>& seed : losses) {
    if (seed.size() != losses.front().size())
      throw Error(ExitCode::internal, "losses of " + std::to_string(seed.size()) + " and of " +
                                          std::to_string(losses.front().size()) + " tokens do not pair");
    BlockSums one = block_sums(seed, block);
    blocks.sums.push_back(std::move(one.sums));
    blocks.lengths = std::move(one.lengths);
  }
  return blocks;
}

std::vector<double> seed_means(const SeedBlocks& blocks) {
  std::vector<double> means;
  for (const std::vector<double>& row : blocks.sums)
    means.push_back(std::accumulate(row.begin(), row.end(), 0.0) / blocks.tokens());
  return means;
}

Variance text_variance(const SeedBlocks& blocks, double mean) {
  std::vector<double> shares(blocks.lengths.size());  // of the deviation of the overall mean
  for (const std::vector<double>& row : blocks.sums)
    for (std::size_t b = 0; b < shares.size(); ++b)
      shares[b] += (row[b] - blocks.lengths[b] * mean) / (blocks.K() * blocks.tokens());
  const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
  return {squares * blocks.B() / (blocks.B() - 1), blocks.B() - 1};
}

Variance seed_variance(const std::vector<double>& means, double mean) {
  const auto K = static_cast<double>(means.size());
  double squares = 0;
  for (const double seed_mean : means) squares += (seed_mean - mean) * (seed_mean - mean);
  return {squares / (K * (K - 1)), K - 1};
}

/// Half the width of the interval that the truth leaves with probability `p`.
double half_width(const std::vector<Variance>& variances, double p) {
  double square = 0;
  for (const Variance& variance : variances) square += variance.value * std::pow(student_critical(p, variance.df), 2);
  return std::sqrt(square);
}

/// The p at which the interval around `mean` just reaches 0.
double two_sided_p(const std::vector<Variance>& variances, double mean) {
  if (mean == 0) return 1;
  double low = 0, high = 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (half_width(variances, middle) > std::abs(mean) ? low : high) = middle;
  }
  return high;
}

MeanEstimate estimate(const SeedBlocks& blocks) {
  const std::vector<double> means = seed_means(blocks);
  MeanEstimate result;
  result.mean = std::accumulate(means.begin(), means.end(), 0.0) / blocks.K();
  result.weights_only = blocks.sums.size() == 1;
  std::vector<Variance> variances = {text_variance(blocks, result.mean)};
  if (!result.weights_only) variances.push_back(seed_variance(means, result.mean));
  const bool known = std::isfinite(result.mean) && blocks.lengths.size() > 1;
  result.resolvable = known ? half_width(variances, 0.05) : std::numeric_limits<double>::quiet_NaN();
  result.p = known ? two_sided_p(variances, result.mean) : std::numeric_limits<double>::quiet_NaN();
  result.ci95 = {result.mean - result.resolvable, result.mean + result.resolvable};
  return result;
}

}  // namespace

MeanEstimate mean_over_seeds(std::span<const std::vector<float>> losses, std::int64_t block) {
  return estimate(seed_blocks(losses, block));
}

MeanEstimate paired_difference(std::span<const std::vector<float>> a, std::span<const std::vector<float>> b,
                               std::int64_t block) {
  if (a.size() != b.size())
    throw Error(ExitCode::internal,
                std::to_string(a.size()) + " and " + std::to_string(b.size()) + " seeds do not pair");
  SeedBlocks difference = seed_blocks(a, block);
  const SeedBlocks other = seed_blocks(b, block);
  if (a.front().size() != b.front().size())
    throw Error(ExitCode::internal, "losses of " + std::to_string(a.front().size()) + " and of " +
                                        std::to_string(b.front().size()) + " tokens do not pair");
  for (std::size_t k = 0; k < other.sums.size(); ++k)
    for (std::size_t i = 0; i < other.lengths.size(); ++i) difference.sums[k][i] -= other.sums[k][i];
  return estimate(difference);
}

}  // namespace chargpt
