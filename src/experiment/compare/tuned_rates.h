// `--tune-rate`: the learning rate that each config of a comparison gets. Pure functions; the trainings to choose by
// are a comparison of their own.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/load.h"
#include "experiment/compare/ranking.h"

namespace chargpt {

/// Factors of a config's learning rates: powers of two around 1, which is among them, rising. 5: 1/4, 1/2, 1, 2, 4.
std::vector<double> rate_factors(std::int64_t count);

/// Multiplies every learning rate of the config, of its groups and min_lr too.
void scale_rates(ResolvedConfig& resolved, double factor);

/// Every config at each of `count` rates, a config's side by side, named "NAME rates x0.25". Error usage for a name
/// above 100 bytes.
std::vector<ResolvedConfig> rate_candidates(const std::vector<ResolvedConfig>& configs, std::int64_t count);

/// The rates of each config whose candidate has the lowest loss, in the order of `configs`; its own where every
/// candidate failed. `candidates`: the comparison of rate_candidates(configs, count).
std::vector<TunedRate> choose_rates(const std::vector<ResolvedConfig>& configs, std::int64_t count,
                                    const Comparison& candidates);

/// "default: 0.002 (x 2)", with a word where that is the lowest or highest tried.
std::string describe(const TunedRate& rate);
nlohmann::ordered_json to_json(const TunedRate& rate);

}  // namespace chargpt
