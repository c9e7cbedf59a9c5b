// Formats a comparison as JSON, tables and sentences. Pure functions.
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
/// Names of the differences, of several seeds, whose p is above `level`: "a, b".
std::string undecided_text(const std::vector<NamedDifference>& differences, double level);

/// The table of `compare ladder`, shown instead of the ranks (ladder.h).
struct LadderTable {
  Table table;
  std::vector<std::string> remarks;
  Json json;
};

/// {"results":[{"config","params","seeds":[{"seed","loss","seconds","tokens_per_second","run"}…],"mean","ci95","rank",
/// "versus_best":{"difference","ci95","p"}}…],"verdict","remarks",…}. "ci95" and "p" are over seeds on this text,
/// corrected for all pairs, null with one seed. "level": the largest p that counts as "is ahead". "verdict": "" if
/// fewer than two configs are ranked. "remarks": limits of the verdict. For people: a row per config, the verdict with
/// its limits, and the main effects and the target, if any.
Report report_of(const Comparison& comparison, const std::optional<LadderTable>& ladder = {});

}  // namespace chargpt
