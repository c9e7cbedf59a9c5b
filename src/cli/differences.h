// In what two runs or configs differ, and what came of the runs: for `inspect A B`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace chargpt {

/// {"differences":[{"option","values"}],"runs":[{"run","best_val_loss",…}]}: a run's folder, or a config by path or
/// preset; "runs" has null for a config. Errors: as load_checkpoint of a run, as load_config.
nlohmann::ordered_json describe_differences(std::span<const std::string> paths);

/// The same for people: one column each.
void print_differences(const nlohmann::ordered_json& json);

}  // namespace chargpt
