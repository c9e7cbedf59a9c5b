// The folder of a run: its name, its lock (one process works in it at a time), and the refusal to overwrite existing
// files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace chargpt {

/// The run of RUN, or of its file RUN/checkpoints/step-N.safetensors; empty for a checkpoint file outside a run.
std::filesystem::path run_of(const std::filesystem::path& run_or_checkpoint);

/// Whether a path is a checkpoint file, by its extension.
bool is_checkpoint_file(const std::filesystem::path& path);

/// Whether a path is a folder or a checkpoint file.
bool is_run_or_checkpoint(const std::filesystem::path& path);

/// Turns a config's name into the name of one folder: "ladder/bigram" -> "ladder-bigram".
std::string folder_name(std::string config_name);

/// Whether a process holds the lock of a run folder.
bool is_locked(const std::filesystem::path& run);

/// Exclusive lock of a run folder: flock on RUN/.lock, which the kernel releases when the process ends. Error busy if
/// another process holds it.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run);

 private:
  Descriptor lock_;
};

/// What the file system of a folder lacks for processes that share it, one sentence each. Error io if it is not
/// writable.
std::vector<std::string> lacks_for_sharing(const std::filesystem::path& folder);

/// Error usage for --overwrite without a run folder: such a run gets a new folder, so there is nothing to overwrite.
void refuse_overwrite_without_run(bool overwrite, const std::string& run);

/// Checks what NewRun refuses, without changing anything. Errors: those of NewRun.
void refuse_occupied(const std::filesystem::path& folder, bool overwrite);

/// The folder of a comparison.
class ResultsFolder {
 public:
  /// Makes `wanted`, or runs/compare-<n> if that is empty. `alone`: only one process may use it at a time. Error busy
  /// if the folder is a run, or if another process that must be alone uses it.
  ResultsFolder(const std::string& wanted, bool alone);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<RunLock> lock_;
};

/// The folder of a new run: made, locked and marked. Do everything that can fail before, because nothing is undone.
class NewRun {
 public:
  /// Makes `wanted` and its parent folders, or runs/<config_name>-<n> with the first free n if `wanted` is empty. With
  /// `overwrite`, an existing run is renamed to RUN.old-N; without, it is Error busy with advice. A folder with files
  /// that chargpt did not write is always Error busy. Other errors: io.
  NewRun(const std::string& wanted, const std::string& config_name, bool overwrite,
         const std::string& program_version = "");
  const std::filesystem::path& path() const { return path_; }
  /// The new path of the overwritten run; empty if there was none.
  const std::filesystem::path& old_run() const { return old_; }

 private:
  std::filesystem::path path_, old_;
  std::optional<RunLock> lock_;
};

}  // namespace chargpt
