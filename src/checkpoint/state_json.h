// state.json of a checkpoint: RunState as text and back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "checkpoint/checkpoint.h"

namespace chargpt {

nlohmann::ordered_json to_json(const RunState& state);

/// Strict: Error data naming `source` where a field is missing, of another type or out of range, or the version newer.
RunState run_state_from_json(const nlohmann::json& json, const std::string& source);

}  // namespace chargpt
