#include "experiment/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chargpt {

bool failed(const ConfigRuns& runs) {
  return std::ranges::any_of(runs.seeds, [](const SeedRun& run) { return !run.failure.empty(); });
}

std::vector<std::vector<float>> losses_of(const ConfigRuns& runs) {
  std::vector<std::vector<float>> losses;
  for (const SeedRun& run : runs.seeds) losses.push_back(run.losses);
  return losses;
}

bool can_be_ranked(const ConfigResult& result) {
  return !result.runs.leaks && std::isfinite(result.mean.mean);
}

Comparison rank_configs(std::vector<ConfigRuns> configs, const TokenView& text) {
  Comparison comparison;
  std::vector<ConfigResult>& results = comparison.results;
  for (ConfigRuns& runs : configs) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    ConfigResult& result = results.emplace_back();
    result.mean = failed(runs) ? MeanEstimate{.mean = none} : mean_over_seeds(losses_of(runs));
    result.runs = std::move(runs);
  }
  const auto end_of_ranked = std::stable_partition(results.begin(), results.end(), can_be_ranked);
  std::stable_sort(results.begin(), end_of_ranked,
                   [](const ConfigResult& a, const ConfigResult& b) { return a.mean.mean < b.mean.mean; });
  const std::int64_t ranked = end_of_ranked - results.begin();
  comparison.pairs = ranked * (ranked - 1) / 2;
  for (auto result = results.begin(); result != end_of_ranked; ++result) {
    result->rank = result - results.begin() + 1;
    if (result->rank > 1)
      result->versus_best =
          paired_difference(losses_of(result->runs), losses_of(results[0].runs), comparison.pairs, text);
  }
  for (const ConfigResult& result : results)
    for (const SeedRun& run : result.runs.seeds)
      comparison.tokens = std::max(comparison.tokens, std::ssize(run.losses));
  return comparison;
}

}  // namespace chargpt
