// The folder of a run: its name, who works in it (one process at a time), and the refusal to touch what is already
// there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace chargpt {

/// A run folder, and which of its checkpoints: "best", "last" or "step-N".
struct RunPlace {
  std::filesystem::path run;  ///< empty for the file of a checkpoint outside a run
  std::string checkpoint;
};

/// `run_or_checkpoint` may be RUN, RUN/checkpoints/step-N.safetensors or another file; `which` counts for RUN.
RunPlace run_place(const std::filesystem::path& run_or_checkpoint, const std::string& which);

/// Whether a path is the file of a checkpoint, by its name.
bool is_checkpoint_file(const std::filesystem::path& path);

/// Whether a path is a folder or the file of a checkpoint.
bool is_run_or_checkpoint(const std::filesystem::path& path);

/// "ladder/bigram" -> "ladder-bigram": one folder name, whatever the config is called.
std::string folder_name(std::string config_name);

/// Whether a process holds the lock of a run folder.
bool is_locked(const std::filesystem::path& run);

/// Exclusive lock of a run folder (flock on RUN/.lock, released by the kernel when the process ends). Error busy if
/// held.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run);

 private:
  Descriptor lock_;
};

/// What processes that share work in a folder would lack there: one sentence each. Error io if nothing can be written.
std::vector<std::string> lacks_for_sharing(const std::filesystem::path& folder);

/// Error usage for --overwrite without a folder: the run would get a new one, where nothing is overwritten.
void refuse_overwrite_without_run(bool overwrite, const std::string& run);

/// What NewRun would refuse, without touching anything. Errors: those of NewRun.
void refuse_occupied(const std::filesystem::path& folder, bool overwrite);

/// The folder of a comparison.
class ResultsFolder {
 public:
  /// Makes `wanted`, or runs/compare-<n> if that is empty; `alone`: for one process at a time. Error busy if it is a
  /// run, or if another comparison that must be alone writes there.
  ResultsFolder(const std::string& wanted, bool alone);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<RunLock> lock_;
};

/// The folder of a new run, made, locked and marked. Everything that can fail belongs before it: nothing is undone.
class NewRun {
 public:
  /// Makes `wanted` and the folders above it, or runs/<config_name>-<n> with the first free n if `wanted` is empty. A
  /// run that is there is Error busy with the choices, unless it may be overwritten: then it is renamed to RUN.old-N.
  /// So is a folder with files that chargpt did not write, in any case. Errors: busy, io.
  NewRun(const std::string& wanted, const std::string& config_name, bool overwrite,
         const std::string& program_version = "");
  const std::filesystem::path& path() const { return path_; }
  /// The new path of the run that was overwritten; empty if there was none.
  const std::filesystem::path& old_run() const { return old_; }

 private:
  std::filesystem::path path_, old_;
  std::optional<RunLock> lock_;
};

}  // namespace chargpt
