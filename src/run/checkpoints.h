// The checkpoints of a run: saved, listed, loaded; which is the best and which the last; and the figures that a run
// keeps of one.
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
/// (disk full, …) with path and reason; what was saved before is untouched.
SavedCheckpoint save_checkpoint(const std::filesystem::path& run, const CheckpointToSave& checkpoint,
                                std::int64_t keep);

/// What a notice of load_checkpoint begins with if a damaged checkpoint was passed over.
inline constexpr const char* damage_notice = "DAMAGED CHECKPOINT: ";

/// Error missing: there is no run or checkpoint at `path`.
Error no_run_at(const std::filesystem::path& path);

/// Paths of texts and teachers are those of the run's config.json. `run_or_checkpoint`: a run folder or the file of a
/// checkpoint, for which `which` has no meaning. `which`: "best" (the least validation loss; the last if none was
/// evaluated), "last" (the greatest step) or "step-N". If the best or the last is damaged, the newest one that is whole
/// is loaded instead, and `notices` says so. Errors: missing, with the steps that there are; those of read_checkpoint.
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                           bool with_optimizer = false, std::vector<std::string>* notices = nullptr);

/// The checkpoint files of a run, oldest first. Errors: io.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

/// A checkpoint among those of its run.
struct Standing {
  std::int64_t step = 0;
  std::int64_t last_step = RunProgress::no_step;  ///< no_step: unknown, as of a file outside a run
  std::int64_t best_step = RunProgress::no_step;  ///< no_step: unknown, or no checkpoint was evaluated

  bool is_last() const { return step == last_step; }
  bool is_best() const { return step == best_step; }
};

/// Never an Error: what cannot be read is unknown.
Standing standing_of(const Checkpoint& checkpoint);

/// "step 2,000, the best; the last is step 2,334"
std::string to_text(const Standing& standing);

/// The final figures of the run if they are about this checkpoint's step; else null. Errors: io.
nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint);
/// Why validation losses of a run, or of a run's checkpoint, may be too low, as it was said when training began; empty:
/// nothing was. Errors: io.
std::string kept_caution(const std::filesystem::path& path);
inline constexpr const char* caution_fact = "caution";  ///< of run.json

}  // namespace chargpt
