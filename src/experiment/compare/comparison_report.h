// How a comparison reads as JSON, as a table and in words. Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiment/compare/ranking.h"
#include "report/table.h"

namespace chargpt {

/// {"results":[{"config","params","seeds":[{"seed","loss","seconds","tokens_per_second","run"}],"mean","ci95","this_text",
/// "spread","rank","versus_best":{"difference","ci95","p","this_text":{"ci95","p"}}}…],"comparisons","seeds_needed",…}.
/// "ci95" and "p" are of more text of this kind, "this_text" of other seeds on this very text; null where they cannot
/// be said, and then "ci95_reason" says why.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// One row per config.
Table to_table(const Comparison& comparison);

/// What a reader of the table must know: what each interval is about or why there is none, the difference that these
/// seeds would show, which weights were scored, times of runs that shared the machine, runs that overfitted or
/// diverged, models that leak.
std::vector<std::string> remarks(const Comparison& comparison);

}  // namespace chargpt
