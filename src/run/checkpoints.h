// Saves, lists and loads the checkpoints of a run, finds the best and the last, and reads the figures that the run
// keeps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "run/checkpoint.h"

namespace chargpt {

struct SavedCheckpoint {
  std::filesystem::path path;
  std::string problem;  ///< why older checkpoints could not be removed; empty if they were
};

/// Writes RUN/checkpoints/step-NNNNNNNN.safetensors, then removes all but the best and the newest `keep`. Error io
/// (disk full, …) with path and reason; it leaves older checkpoints untouched.
SavedCheckpoint save_checkpoint(const std::filesystem::path& run, const CheckpointToSave& checkpoint,
                                std::int64_t keep);

/// Starts the notice of load_checkpoint() about a damaged checkpoint that it skipped.
inline constexpr const char* damage_notice = "DAMAGED CHECKPOINT: ";

/// Loads a checkpoint, with the paths of texts and teachers from the run's config.json. `run_or_checkpoint`: a run
/// folder, or a checkpoint file, for which `which` is ignored. `which`: "best" (least validation loss, or the last if
/// none was evaluated), "last" (greatest step) or "step-N". If the best or the last is damaged, loads the newest
/// undamaged one instead and says so in its notices. Errors: usage for another `which`; missing, naming the steps that
/// exist; those of read_checkpoint.
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                           bool with_optimizer = false);

/// The checkpoint files of a run, by ascending step. Errors: io.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

/// "step 2,000, the best; the last is step 2,334", for the checkpoint of `step`.
std::string to_text(std::int64_t step, const Standing& standing);

/// The run's final figures if they are about this checkpoint's step, else null. Errors: io.
nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint);
/// The caution from the start of training: why validation losses of this run, or of this checkpoint's run, may be too
/// low; "" if there was none. Errors: io.
std::string kept_caution(const std::filesystem::path& path);
inline constexpr const char* caution_fact = "caution";  ///< a field of run.json

}  // namespace chargpt
