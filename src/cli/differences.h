// In what two runs or configs differ, and what came of the runs: for `inspect A B`.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// "running", or why the run ended ("finished", …), "unknown" where nothing says it.
std::string ending_of(const std::filesystem::path& run, const RunState& state);

/// {"differences":[{"option","values"}],"runs":[{"run","best_val_loss",…}]}: a run's folder, or a config by path or
/// preset; "runs" has null for a config. Errors: as load_checkpoint of a run, as load_config.
nlohmann::ordered_json describe_differences(std::span<const std::string> paths);

/// The same for people: one column each.
void print_differences(const nlohmann::ordered_json& json);

}  // namespace chargpt
