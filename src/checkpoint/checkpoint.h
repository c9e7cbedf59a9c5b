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
#include "text/corpus.h"

namespace chargpt {

/// How the loss of the batches goes, so that a jump of it can be told from its noise. See train/loss_trend.h.
struct LossTrend {
  double mean = 0, variance = 0;
  std::int64_t count = 0;  ///< losses seen
};

/// All that resuming needs beside weights and moments. Randomness is a function of (seed, step), so no generator state
/// is here.
struct RunState {
  static constexpr int current_version = 1;
  static constexpr std::int64_t no_step = -1;
  int version = current_version;
  std::int64_t step = 0;  ///< finished updates
  std::int64_t max_iters = 0;
  double seconds = 0;           ///< spent so far, over all processes
  double training_seconds = 0;  ///< of these, in updates
  /// At this step, where it was evaluated.
  double val_loss = std::numeric_limits<double>::infinity();
  double averaged_val_loss = std::numeric_limits<double>::infinity();  ///< of averaged weights, where there are any
  /// Of the better of the two.
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = -1;
  std::int64_t evals_without_improvement = 0;
  // What train.on_nonfinite = rollback needs to do the same again after a resume. Absent from older checkpoints.
  LossTrend trend;
  std::int64_t rollbacks = 0;            ///< in all
  std::int64_t rollbacks_in_a_row = 0;   ///< to the same checkpoint
  std::int64_t rollback_step = no_step;  ///< of the checkpoint that a rollback returns to; never pruned
  std::int64_t skips_in_a_row = 0;       ///< where train.on_nonfinite = skip. Absent from older checkpoints
  Fingerprint data;
  std::int64_t parameters = 0;
  /// Id that a sample without a prompt starts from: newline, or the text's most frequent.
  std::int64_t start_symbol = 0;
  // The conditions under which the bits repeat; a difference is announced.
  std::string program_version, libtorch_version, cpu_capability, device, engine;
  std::int64_t threads = 0;
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

/// Writes RUN/checkpoints/step-NNNNNNNN by temp folder, fsync of each file, MANIFEST, fsync, rename, fsync of the
/// parent; then points LATEST (and BEST if `best`) at it, then removes what is older than the newest `keep`, except
/// BEST and the one that state.rollback_step names. An existing folder of that step is replaced, those of later steps
/// are left alone, what a crashed save left is removed. Error io (disk full, …) with path and reason; what was saved
/// before is untouched.
std::filesystem::path save_checkpoint(const std::filesystem::path& run, const CheckpointToSave& checkpoint, bool best,
                                      std::int64_t keep);

/// What a notice of load_checkpoint begins with where a damaged checkpoint had to be passed over.
inline constexpr const char* damage_notice = "DAMAGED CHECKPOINT: ";

/// `run_or_checkpoint`: a run folder or one checkpoint folder in it. `which`: "best", "last", "step-N". best falls back
/// to last. Verifies MANIFEST and size, CRC-64 and form of every file that is loaded (optimizer.safetensors only
/// `with_optimizer`). Where best or last of a run is damaged, the newest earlier good one (else the newest good one) is
/// loaded instead and `notices` says so; a step or folder that was asked for by name is an Error. Errors: missing 66
/// (says what is there), damaged or from a newer program 65.
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                           bool with_optimizer, std::vector<std::string>& notices);

/// Finished checkpoints of a run, oldest first; folders that are not checkpoints (temp ones) are not listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

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
