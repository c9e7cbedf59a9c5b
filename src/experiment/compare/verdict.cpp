#include "experiment/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "experiment/compare/comparison_report.h"
#include "report/format.h"

namespace chargpt {
namespace {

constexpr std::int64_t most_seeds_to_advise = 30;

/// "in both seeds", "in 2 of 3 seeds": where the best has the lower loss.
std::string seeds_ahead(const ConfigResult& best, const ConfigResult& next) {
  const std::size_t seeds = best.runs.seeds.size();
  std::size_t ahead = 0;
  for (std::size_t k = 0; k < seeds; ++k)
    ahead += static_cast<std::size_t>(best.runs.seeds[k].loss < next.runs.seeds[k].loss);
  if (ahead < seeds) return "in " + std::to_string(ahead) + " of " + std::to_string(seeds) + " seeds";
  return seeds == 2 ? "in both seeds" : "in all " + std::to_string(seeds) + " seeds";
}

std::string in_tenths(const MeanEstimate& difference) {
  return "in " + std::to_string(tenths_above_zero(difference)) + " of " + std::to_string(difference.tenths.size()) +
         " tenths of the text";
}

std::string try_seeds(const Comparison& comparison, std::int64_t seeds) {
  return comparison.trained_before ? "train " + std::to_string(seeds) + " seeds of each"
                                   : "try --seeds " + std::to_string(seeds);
}

std::string undecided(const Comparison& comparison, const MeanEstimate& difference) {
  const auto needed = seeds_to_show(std::abs(difference.mean), *difference.deviation, comparison.pairs);
  if (needed && *needed <= most_seeds_to_advise) return " but not yet certain; " + try_seeds(comparison, *needed);
  return ", too close to call: telling them apart would take " +
         (needed ? "about " + std::to_string(*needed) : "more than 1,000") + " seeds";
}

}  // namespace

std::string verdict(const Comparison& comparison) {
  const std::vector<ConfigResult>& results = comparison.results;
  if (results.size() < 2 || results[1].rank == 0) return "";
  const ConfigResult &best = results[0], &next = results[1];
  const MeanEstimate& difference = *next.versus_best;
  const std::size_t beginning = common_beginning(results);
  const std::string name = best.runs.config.substr(beginning), other = next.runs.config.substr(beginning);
  if (difference.mean == 0) return name + " and " + other + " have equal losses";
  const bool several = results.size() > 2 && results[2].rank > 0;
  const std::string ahead = name + " is ahead" + (several ? " of " + other : ""),
                    by = " by " + format_fixed(difference.mean, 4);
  if (!difference.ci95)
    return ahead + by + ", " + in_tenths(difference) +
           "; one seed cannot show whether that is luck: " + try_seeds(comparison, 3);
  if (is_undecided(difference)) return ahead + " " + seeds_ahead(best, next) + undecided(comparison, difference);
  return ahead + by + " (95 % interval over other seeds: " + format_fixed(difference.ci95->low, 4) + " to " +
         format_fixed(difference.ci95->high, 4) + "), " + in_tenths(difference);
}

}  // namespace chargpt
