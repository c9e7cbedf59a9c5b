// What one checkpoint folder holds, file by file, each strictly read. Knows no run and no other checkpoint.
#pragma once

#include "base/open_folder.h"
#include "checkpoint/checkpoint.h"

namespace chargpt {

/// Error data / missing / io naming the file and what is wrong with it.
ResolvedConfig read_config(const OpenFolder& folder);

/// state.json after it was checked against the manifest. Errors as read_checkpoint.
RunState read_checked_state(const OpenFolder& folder);

/// All of it, every file first checked against the manifest; optimizer.safetensors is looked at only `with_optimizer`.
Checkpoint read_checkpoint(const OpenFolder& folder, bool with_optimizer);

/// Reads a file as loading would, of bytes that were checked; Error data where it cannot be.
void check_contents(const OpenFolder& folder, const std::string& name, std::string bytes);

}  // namespace chargpt
