// How a comparison reads as JSON, as tables and in words. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/ranking.h"
#include "report/report.h"

namespace chargpt {

/// {"difference","ci95","p"}, or null.
Json difference_json(const std::optional<MeanEstimate>& difference);

using NamedDifference = std::pair<std::string, MeanEstimate>;
/// Names of the differences whose p is above `level`, of several seeds: "a, b".
std::string undecided_text(const std::vector<NamedDifference>& differences, double level);

/// The best against the next best: "a is ahead of b by 0.0123 (p = 0.002, level 0.04), in 9 of 10 tenths of the text",
/// or why that cannot be said. Empty where fewer than two configs are ranked.
std::string verdict(const Comparison& comparison);

/// What `compare ladder` shows in place of the ranks (ladder.h).
struct LadderTable {
  Table table;
  std::vector<std::string> remarks;
  Json json;
};

/// {"results":[{"config","params","seeds":[{"seed","loss","seconds","tokens_per_second","run"}…],"mean","ci95","rank",
/// "versus_best":{"difference","ci95","p"}}…],"verdict","remarks",…}. "ci95" and "p" are over other seeds on this text,
/// corrected for all pairs, null with one seed; "level": what p may have at most for "is ahead"; "remarks": what limits
/// the verdict, then what the columns mean. For people: a row per config, variants of one config under its name; the
/// verdict and its limits; main effects and the target, if there are any.
Report report_of(const Comparison& comparison, const std::optional<LadderTable>& ladder = {});

}  // namespace chargpt
