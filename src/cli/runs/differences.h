// How two runs or configs differ, and what came of the runs: for `inspect A B`. And how it shows values and figures.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "report/report.h"
#include "run/checkpoint.h"

namespace chargpt {

/// An option's value on one line, with nothing that a terminal would obey.
std::string shown_value(const Json& value);
/// A figure of that name in JSON with the digits that people need; `exact`: of a loss, whether it is no estimate.
std::string shown_figure(const std::string& name, const Json& value, bool exact);

/// The best step in JSON; null where none was evaluated, as in an imported run.
Json best_step_of(const RunState& state);

/// "tinyshakespeare.txt: 1,115,394 characters"
std::string text_of(const RunState& state, const DataConfig& data);

/// What came of a run, named as in metrics.jsonl.
Json outcome_json(const RunState& state, const DataConfig& data, const std::string& ended);

/// "running", or why the run ended ("finished", …), "unknown" where nothing says it.
std::string ending_of(const std::filesystem::path& run, const RunState& state);

/// {"differences":[{"option","values"}],"runs":[{"run","best_val_loss",…}]}: a run's folder, or a config by path or
/// preset; "runs" has null for a config. For people one column each. Errors: as load_checkpoint of a run, as
/// load_config.
Report report_of_differences(std::span<const std::string> paths);

}  // namespace chargpt
