// How a comparison reads as JSON, as tables and in words. Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/ranking.h"
#include "report/table.h"

namespace chargpt {

/// {"results":[{"config","params","seeds":[{"seed","loss","seconds","tokens_per_second","run"}…],"mean","ci95","rank",
/// "versus_best":{"difference","ci95","p"}}…],"verdict","remarks",…}. "ci95" and "p" are over other seeds on this text,
/// corrected for all pairs, null with one seed; "level": what p may have at most for "is ahead".
nlohmann::ordered_json to_json(const Comparison& comparison);
/// {"difference","ci95","p"}, or null.
nlohmann::ordered_json difference_json(const std::optional<MeanEstimate>& difference);

/// One row per config; variants of one config under its name.
Table to_table(const Comparison& comparison);
/// One row per value of each varied option; no rows below two varied options.
Table effects_table(const Comparison& comparison);
/// Config, seeds that reached the target, and the mean of steps and seconds where all did.
Table target_table(const Comparison& comparison);

using NamedDifference = std::pair<std::string, MeanEstimate>;
/// Names of the differences whose p is above `level`, of several seeds: "a, b".
std::string undecided_text(const std::vector<NamedDifference>& differences, double level);

/// The best against the next best: "a is ahead of b by 0.0123 (p = 0.002, level 0.04), in 9 of 10 tenths of the text",
/// or why that cannot be said. Empty where fewer than two configs are ranked.
std::string verdict(const Comparison& comparison);
/// What limits the verdict: unequal training, a disturbed clock, overfitting, shared text, earlier looks, failures.
std::vector<std::string> limits(const Comparison& comparison);
/// What the columns and figures mean.
std::vector<std::string> explanations(const Comparison& comparison);

}  // namespace chargpt
