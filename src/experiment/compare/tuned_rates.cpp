#include "experiment/compare/tuned_rates.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_of.h"
#include "experiment/compare/variants.h"
#include "experiment/run_names.h"
#include "experiment/tune/search_space.h"

namespace chargpt {

std::vector<double> rate_factors(std::int64_t count) {
  std::vector<double> factors;
  for (std::int64_t i = 0; i < count; ++i) factors.push_back(std::exp2(static_cast<double>(i - count / 2)));
  return factors;
}

void scale_rates(ResolvedConfig& resolved, double factor) {
  if (factor == 1) return;
  resolved.config = apply(resolved.config, Candidate{.rates = factor}, /*embedding_and_head=*/"");
  resolved.origin["train.learning_rate"] = "--tune-rate";
}

std::vector<ResolvedConfig> rate_candidates(const std::vector<ResolvedConfig>& configs, std::int64_t count) {
  std::vector<ResolvedConfig> candidates;
  const std::vector<std::string> names = distinct_names(configs);
  for (std::size_t i = 0; i < configs.size(); ++i)
    for (const double factor : rate_factors(count)) {
      candidates.push_back(configs[i]);
      scale_rates(candidates.back(), factor);
      candidates.back().config.name = names[i];
      name_by(candidates.back(), line_of(" rates x", factor));
    }
  return candidates;
}

std::vector<TunedRate> choose_rates(const std::vector<ResolvedConfig>& configs, std::int64_t count,
                                    const Comparison& candidates) {
  const std::vector<double> factors = rate_factors(count);
  const std::vector<std::string> names = distinct_names(configs);
  const std::vector<std::string> names_of_candidates = distinct_names(rate_candidates(configs, count));
  std::vector<TunedRate> chosen;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    TunedRate best{.config = names[i], .learning_rate = configs[i].config.train.learning_rate};
    for (std::size_t k = 0; k < factors.size(); ++k) {
      const std::string& name = names_of_candidates[i * factors.size() + k];
      const auto found = std::ranges::find_if(
          candidates.results, [&name](const ConfigResult& result) { return result.runs.config == name; });
      if (found == candidates.results.end())
        throw Error(ExitCode::internal, "the rates tried have no result of " + name);
      if (!std::isfinite(found->mean.mean) || found->mean.mean >= best.loss) continue;
      best.loss = found->mean.mean;
      best.factor = factors[k];
      best.lowest = k == 0;
      best.highest = k + 1 == factors.size();
    }
    best.learning_rate *= best.factor;
    chosen.push_back(best);
  }
  return chosen;
}

std::string describe(const TunedRate& rate) {
  const std::string text = line_of(rate.config, ": ", rate.learning_rate, " (x ", rate.factor, ")");
  if (!std::isfinite(rate.loss)) return text + ", its own, since training diverged at every rate";
  if (rate.lowest) return text + ", the lowest tried";
  return rate.highest ? text + ", the highest tried" : text;
}

nlohmann::ordered_json to_json(const TunedRate& rate) {
  nlohmann::ordered_json json = {
      {"config", rate.config}, {"learning_rate", rate.learning_rate}, {"factor", rate.factor}};
  json["loss"] = std::isfinite(rate.loss) ? nlohmann::ordered_json(rate.loss) : nlohmann::ordered_json();
  return json;
}

}  // namespace chargpt
