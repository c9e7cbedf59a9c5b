// How a comparison reads as JSON, as a table and in words. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
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

/// One row per config. `narrow`: what fits 80 columns, one interval of the difference to the best: on this text where
/// there are seeds, else on more text.
Table to_table(const Comparison& comparison, bool narrow = false);

/// A row per config and seed, all figures of to_json in columns of their names, "" where there is none; RFC 4180.
std::string to_csv(const Comparison& comparison);

/// A difference of two configs, and the number of comparisons that it is one of.
struct Undecided {
  std::string name;
  MeanEstimate difference;
  std::int64_t comparisons = 1;
};
/// Whether other seeds on this very text would show the same sign; true with one seed, where that cannot be said.
bool is_told_apart(const MeanEstimate& difference);
/// "a (0.0012 apart, about 9 seeds would tell), b (…)", and for which part of comparisons.
std::string undecided_text(const std::vector<Undecided>& differences);

/// {"difference","ci95","p","this_text":{"ci95","p"}}, or null.
nlohmann::ordered_json difference_json(const std::optional<MeanEstimate>& difference);

/// What a reader of the table must know: what each interval is about or why there is none, which configs cannot be
/// told from the best and how many seeds would tell, the difference that these seeds would show; then run_remarks().
std::vector<std::string> remarks(const Comparison& comparison);

/// Of the runs alone: which weights were scored, times of runs that shared the machine, runs that overfitted or
/// diverged, models that leak.
std::vector<std::string> run_remarks(const Comparison& comparison);

}  // namespace chargpt
