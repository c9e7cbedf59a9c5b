// A checkpoint folder: complete or absent. Pure data in and out; knows no tensor library and no model.
//   RUN/checkpoints/step-00002000/{model.safetensors, optimizer.safetensors, state.json, vocab.json, config.json, MANIFEST.json}
//   RUN/checkpoints/{LATEST,BEST}: one line, a folder's name
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "config/load.h"
#include "text/corpus.h"

namespace chargpt {

/// All that resuming needs beside weights and moments. Randomness is a function of (seed, step), so no generator state is here.
struct RunState {
  static constexpr int current_version = 1;
  int version = current_version;
  std::int64_t step = 0;  ///< finished updates
  std::int64_t max_iters = 0;
  double seconds = 0;  ///< spent so far, over all processes
  double val_loss = std::numeric_limits<double>::infinity();  ///< at this step, where it was evaluated
  double best_val_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = -1;
  std::int64_t evals_without_improvement = 0;
  Fingerprint data;
  std::int64_t parameters = 0;
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
  std::unique_ptr<SafetensorsFile> optimizer;  ///< null where only sampling was asked for
};

struct CheckpointToSave {
  const RunState& state;
  const Vocabulary& vocabulary;
  const ResolvedConfig& config;
  std::span<const TensorView> model;
  std::span<const TensorView> optimizer;
};

/// Writes RUN/checkpoints/step-NNNNNNNN by temp folder, fsync of each file, MANIFEST, fsync, rename, fsync of the parent; then
/// points LATEST (and BEST if `best`) at it, then removes all but the newest `keep` and BEST. An existing folder of that step is replaced.
std::filesystem::path save_checkpoint(const std::filesystem::path& run, const CheckpointToSave& checkpoint, bool best, std::int64_t keep);

/// `run_or_checkpoint`: a run folder or one checkpoint folder in it. `which`: "best", "last", "step-N". best falls back to last.
/// Verifies MANIFEST (sizes, CRC-64) and every file. Where the chosen one is damaged and `run_or_checkpoint` is a run, the
/// newest good one is loaded instead and `notices` says so. Errors: missing 66, damaged 65.
Checkpoint load_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which, bool with_optimizer, std::vector<std::string>& notices);

/// Finished checkpoints of a run, oldest first; folders that are not checkpoints (temp ones) are not listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

/// Exclusive lock of a run folder (flock on RUN/.lock, released by the kernel when the process ends). Error busy if held.
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
