// How a comparison reads as JSON, as a table and in words. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/ranking.h"
#include "report/table.h"

namespace chargpt {

/// {"results":[{"config","params","seeds":[{"seed","loss","seconds","tokens_per_second","run"}],"mean","ci95","spread",
/// "rank","versus_best":{"difference","ci95","p","ahead_in_tenths","tenths"}}…],"verdict","remarks",…}.
/// "ci95" and "p" are over other seeds on this text, null with one seed; "ahead_in_tenths": tenths of the text in which
/// the best is ahead.
nlohmann::ordered_json to_json(const Comparison& comparison);

/// One row per config; variants of one config stand under its name.
Table to_table(const Comparison& comparison);

/// In their order: config, seeds that reached the target, and the mean of steps and seconds where all did. Times of
/// runs that shared the machine carry a *.
Table target_table(const Comparison& comparison);

using NamedDifference = std::pair<std::string, MeanEstimate>;
/// Names of the differences that other seeds may well show with the opposite sign: "a, b". Empty if there are none; one
/// seed cannot tell.
std::string undecided_text(const std::vector<NamedDifference>& differences);

/// {"difference","ci95","p"}, or null.
nlohmann::ordered_json difference_json(const std::optional<MeanEstimate>& difference);

/// What the table cannot be read without: what was left out or failed, what a mark in it means.
std::vector<std::string> table_notes(const Comparison& comparison);

/// Details: what the intervals are about, which configs cannot be told from the best and how many seeds would tell, the
/// difference that these seeds would show; then run_remarks().
std::vector<std::string> remarks(const Comparison& comparison);

/// Of the runs alone: which weights were scored, which runs overfitted or ended early, how many steps each made.
std::vector<std::string> run_remarks(const Comparison& comparison);

/// "learning_rate=3e-3 is ahead in both seeds, perhaps by chance; try --seeds 4": the best against the next best, with
/// what would decide between them. Empty where fewer than two configs are ranked.
std::string verdict(const Comparison& comparison);

}  // namespace chargpt
