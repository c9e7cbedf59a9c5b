// A checkpoint folder: complete or absent. Pure data in and out; knows no tensor library and no model.
//   RUN/checkpoints/step-00002000/{model,optimizer}.safetensors, {state,vocab,config,MANIFEST}.json, and
//   averaged.safetensors where train.ema averages weights
//   RUN/checkpoints/{LATEST,BEST}: one line, a folder's name
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "config/load.h"
#include "report/ending.h"
#include "text/corpus.h"

namespace chargpt {

/// How the loss of the batches goes, so that a jump of it can be told from its noise. See train/loss_trend.h.
struct LossTrend {
  double mean = 0, variance = 0;
  std::int64_t count = 0;  ///< losses seen
};

/// How far a run has come: all that a resumed run goes on with beside weights and moments, and it takes it whole.
/// Randomness is a function of (seed, step), so no generator state is here.
struct RunProgress {
  static constexpr std::int64_t no_step = -1;
  std::int64_t step = 0;  ///< finished
  std::int64_t max_iters = 0;
  double seconds = 0;           ///< spent so far, over all processes
  double training_seconds = 0;  ///< of these, in steps
  /// At this step, where it was evaluated.
  double val_loss = std::numeric_limits<double>::infinity();
  double averaged_val_loss = std::numeric_limits<double>::infinity();  ///< of averaged weights, where there are any
  /// Of the better of the two.
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = no_step;
  std::int64_t evals_without_improvement = 0;
  // What train.on_nonfinite = rollback needs to do the same again after a resume. Absent from older checkpoints.
  LossTrend trend{};
  std::int64_t rollbacks = 0;            ///< in all
  std::int64_t rollbacks_in_a_row = 0;   ///< to the same checkpoint
  std::int64_t rollback_step = no_step;  ///< of the checkpoint that a rollback returns to; never pruned
  std::int64_t skips_in_a_row = 0;       ///< where train.on_nonfinite = skip. Absent from older checkpoints
  Ending ended = Ending::unknown;        ///< why there is no later step. Absent from older checkpoints
};

/// What a run is made of and runs on: each process finds it anew. Resuming compares it with the checkpoint's: another
/// text is refused, a difference after which the bits do not repeat is announced.
struct RunConditions {
  Fingerprint data{};
  std::int64_t parameters = 0;
  /// Id that a sample without a prompt starts from: newline, or the text's most frequent.
  std::int64_t start_symbol = 0;
  std::string program_version{}, libtorch_version{}, cpu_capability{}, device{}, engine{};
  std::int64_t threads = 0;
};

/// What state.json holds.
struct RunState : RunProgress, RunConditions {
  static constexpr int current_version = 1;
  int version = current_version;
};

struct Checkpoint {
  std::filesystem::path path;
  RunState state;
  Vocabulary vocabulary;
  ResolvedConfig config;
  std::unique_ptr<SafetensorsFile> model;
  std::unique_ptr<SafetensorsFile> averaged;   ///< null where no weights are averaged
  std::unique_ptr<SafetensorsFile> optimizer;  ///< null where only sampling was asked for
};

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
/// parent; then points LATEST at it, by which the run stands there, then BEST at the best by its state (see best.h),
/// then removes what is older than the newest `keep`, except the best and the one that state.rollback_step names. An
/// existing folder of that step is replaced, those of later steps are left alone, what a crashed save left is removed.
/// Error io (disk full, …) with path and reason, saying whether the checkpoint is there; what was saved before is
/// untouched.
SavedCheckpoint save_checkpoint(const std::filesystem::path& run, const CheckpointToSave& checkpoint,
                                std::int64_t keep);

/// The run stands at this checkpoint of its own from here on: LATEST and BEST are made to say so, where they do not.
/// Returns a problem as save_checkpoint does. Errors: io, where LATEST cannot be written.
std::string go_on_from(const std::filesystem::path& run, const RunState& state);

/// Begins a run at a checkpoint of another: copies it, with `config` in place of its own, and as they are the
/// checkpoints that it may come back to, its best and what a rollback returns to. Returns notices of those that could
/// not be read. Errors: io.
std::vector<std::string> copy_checkpoints(const std::filesystem::path& from, const Checkpoint& checkpoint,
                                          const ResolvedConfig& config, const std::filesystem::path& to);

/// What a notice of load_checkpoint begins with where a damaged checkpoint had to be passed over.
inline constexpr const char* damage_notice = "DAMAGED CHECKPOINT: ";

/// `run_or_checkpoint`: a run folder or one checkpoint folder in it. `which`: "best" (by the newest state, whatever the
/// file BEST says), "last", "step-N". best falls back to last. Verifies MANIFEST and size, CRC-64 and form of every
/// file that is loaded (optimizer.safetensors only `with_optimizer`). Where the last of a run is damaged, the newest
/// earlier good one (else the newest good one) is loaded instead, where the best is, the one with the next lowest loss,
/// and `notices` says so; a step or folder that was asked for by name is an Error. Errors: missing 66 (says what is
/// there), damaged or from a newer program 65.
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                           bool with_optimizer, std::vector<std::string>& notices);

/// Finished checkpoints of a run, oldest first; folders that are not checkpoints (temp ones) are not listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

/// The step that a run stands at: that of LATEST's checkpoint, or of the newest. Error missing where there is none.
std::int64_t last_step(const std::filesystem::path& run);

/// One file of a checkpoint as `inspect --verify` shows it.
struct FileReport {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t crc64 = 0;
  std::string problem;  ///< empty: size, sum and form are right
};

/// Every file of one checkpoint folder, MANIFEST.json first (nothing else is looked at where that is damaged), each
/// checked as load_checkpoint does. Errors: missing where there is no such folder.
std::vector<FileReport> verify_checkpoint(const std::filesystem::path& folder);

/// Whether a process holds the lock of a run folder.
bool is_locked(const std::filesystem::path& run);

/// Exclusive lock of a run folder (flock on RUN/.lock, released by the kernel when the process ends). Error busy if
/// held.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace chargpt
