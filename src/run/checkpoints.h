// The checkpoints of a run (see run/checkpoint.h): saved, loaded, listed; where one stands beside the best and
// the last; and the figures that a run keeps of one. A checkpoint is complete or absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "run/checkpoint.h"

namespace chargpt {

struct CheckpointToSave {
  const RunState& state;
  const Vocabulary& vocabulary;
  const ResolvedConfig& config;
  std::span<const TensorView> model;
  std::span<const TensorView> optimizer;
  std::span<const TensorView> averaged = {};  ///< empty: none are kept
};

struct SavedCheckpoint {
  std::filesystem::path path;
  std::string problem;  ///< empty; or why BEST could not be mended, which harms nothing but who reads that file
};

/// Writes RUN/checkpoints/step-NNNNNNNN by temp folder, fsync of each file, MANIFEST, fsync, rename, fsync of the
/// parent; then points LATEST at it, by which the run stands there, then BEST at the best by its state,
/// then removes what is older than the newest `keep`, except the best. An existing folder of that step is replaced,
/// those of later steps are left alone, what a crashed save left is removed. Error io (disk full, …) with path and
/// reason, saying whether the checkpoint is there; what was saved before is untouched.
SavedCheckpoint save_checkpoint(const OpenFolder& run, const CheckpointToSave& checkpoint, std::int64_t keep);

/// The run stands at this checkpoint of its own from here on: LATEST and BEST are made to say so, where they do not.
/// Returns a problem as save_checkpoint does. Errors: io, where LATEST cannot be written.
std::string go_on_from(const OpenFolder& run, const RunState& state);

/// What a notice of load_checkpoint begins with where a damaged checkpoint had to be passed over.
inline constexpr const char* damage_notice = "DAMAGED CHECKPOINT: ";

/// `run_or_checkpoint`: a run folder or one checkpoint folder in it. `which`: "best" (by the newest state, whatever the
/// file BEST says), "last", "step-N". best falls back to last. Verifies MANIFEST and size, CRC-64 and form of every
/// file that is loaded (optimizer.safetensors only `with_optimizer`). Where the last of a run is damaged, the newest
/// earlier good one (else the newest good one) is loaded instead, where the best is, the last, and `notices` says so; a
/// step or folder that was asked for by name is an Error. Errors: missing 66 (says what is there), damaged or from a
/// newer program 65.
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                           bool with_optimizer = false, std::vector<std::string>* notices = nullptr);

/// Finished checkpoints of a run, oldest first; folders that are not checkpoints (temp ones) are not listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

/// The step that a run stands at: that of LATEST's checkpoint, or of the newest. Error missing where there is none.
std::int64_t last_step(const std::filesystem::path& run);

/// A checkpoint among those of its run.
struct Standing {
  std::int64_t step = 0;
  std::int64_t last_step = RunProgress::no_step;  ///< no_step: not known, as of a checkpoint outside a run
  std::int64_t best_step = RunProgress::no_step;  ///< no_step: not known, or no step was evaluated
  bool last_evaluated = false;                    ///< the weights of the last have a validation loss

  bool is_last() const { return step == last_step; }
  bool is_best() const { return step == best_step; }
};

/// From what the run's newest state says. Never an Error: what cannot be read is not known.
Standing standing_of(const Checkpoint& checkpoint);

/// "step 2,000, the best; the last is step 2,334 (not evaluated)"
std::string to_text(const Standing& standing);

/// What figures.json holds, where it is an object that tells of this checkpoint's step; else null. Never an Error:
/// figures that cannot be read are only left out.
nlohmann::ordered_json kept_figures(const Checkpoint& checkpoint);

}  // namespace chargpt
