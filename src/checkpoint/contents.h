// What one checkpoint folder holds, file by file, each strictly read. Knows no run and no other checkpoint.
#pragma once

#include <filesystem>

#include "checkpoint/checkpoint.h"

namespace chargpt {

// Each is an Error data / missing / io naming the file and what is wrong with it; none looks at the manifest.
RunState read_state(const std::filesystem::path& folder);
Vocabulary read_vocabulary(const std::filesystem::path& folder);
ResolvedConfig read_config(const std::filesystem::path& folder);

/// state.json after it was checked against the manifest.
RunState read_checked_state(const std::filesystem::path& folder);

/// All of it, every file first checked against the manifest; optimizer.safetensors is looked at only `with_optimizer`.
Checkpoint read_checkpoint(const std::filesystem::path& folder, bool with_optimizer);

}  // namespace chargpt
