// `inspect A B`: how two runs or configs differ, and the results of the runs. Also formats values and figures.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>

#include "report/report.h"
#include "run/checkpoint.h"

namespace chargpt {

/// Formats an option's value on one line, with control characters escaped.
std::string shown_value(const Json& value);
/// Formats the JSON figure `name` for people; `exact`: for a loss, whether it is not an estimate.
std::string shown_figure(const std::string& name, const Json& value, bool exact);

/// "running", or why metrics.jsonl says that the run ended ("finished", …), or "unknown".
std::string ending_of(const std::filesystem::path& run);

/// The results of a run, with the keys of metrics.jsonl, and its text. `ended`: its ending_of(); if that is "unknown",
/// the checkpoint's. "best_step" is null if no step was evaluated, as in an imported run.
Json outcome_json(const Checkpoint& checkpoint, const std::string& ended);

/// The facts of outcome_json() that identify the held-out part: compare losses only if they are the same.
inline constexpr std::array held_out_facts{"text", "text_crc64", "val_fraction", "test_fraction", "max_val_tokens"};

/// Formats a fact of outcome_json() for people.
std::string outcome_text(const std::string& name, const Json& outcome);

/// {"differences":[{"option","values"}],"runs":[{"run","best_val_loss",…}]}; a path is a run folder, a config file or a
/// preset; "runs" has null for a config. For people one column per path. Errors: as load_checkpoint() for runs, as
/// load_config() for configs.
Report report_of_differences(std::span<const std::string> paths);

}  // namespace chargpt
