// The folder of a new run: its name, and the refusal to touch what is already there.
#pragma once

#include <filesystem>
#include <string>

namespace chargpt {

/// A run folder, and which of its checkpoints: "best", "last" or "step-N".
struct RunPlace {
  std::filesystem::path run;
  std::string checkpoint;
};

/// `run_or_checkpoint` may be RUN or RUN/checkpoints/step-N; `which` counts for the former.
RunPlace run_place(const std::filesystem::path& run_or_checkpoint, const std::string& which);

/// Makes the folder of a new run. `wanted` empty: runs/<config>-<n> with the first free n. An existing run is an Error
/// busy with the three choices, unless `overwrite`: then what a run consists of is removed from it (never other files),
/// under its lock.
std::filesystem::path make_run_folder(const std::string& wanted, const std::string& config_name, bool overwrite);

}  // namespace chargpt
