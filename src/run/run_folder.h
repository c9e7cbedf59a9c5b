// The folder of a run: its name, its lock (one process works in it at a time), and the refusal to overwrite existing
// files.
#pragma once

#include <filesystem>
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

/// Locks a run folder for this process alone: flock on RUN/.lock, which ends with the descriptor or the process. Error
/// busy if another process holds it.
Descriptor lock_run(const std::filesystem::path& run);

/// What the file system of a folder lacks for processes that share it, one sentence each. Error io if it is not
/// writable.
std::vector<std::string> lacks_for_sharing(const std::filesystem::path& folder);

/// Checks what new_run() refuses, without changing anything. `folder`: empty if the run gets a new one; then
/// `overwrite` is an Error usage, because there is nothing to overwrite. Other errors: those of new_run().
void refuse_occupied(const std::filesystem::path& folder, bool overwrite);

/// A folder that this process may write to.
struct OwnFolder {
  std::filesystem::path path;
  Descriptor lock{-1};              ///< -1: other processes may write there, too
  std::filesystem::path old_run{};  ///< the new path of the run that was overwritten; empty if there was none
};

/// Makes the folder of a comparison: `wanted`, or runs/compare-<n> if that is empty. `alone`: only one process may use
/// it at a time. Error busy if the folder is a run, or if another process that must be alone uses it.
OwnFolder results_folder(const std::string& wanted, bool alone);

/// Makes, locks and marks the folder of a new run: `wanted` and its parent folders, or runs/<config_name>-<n> with the
/// first free n if `wanted` is empty. Do everything that can fail before, because nothing is undone. With `overwrite`,
/// an existing run is renamed to RUN.old-N; without, it is Error busy with advice. A folder with files that chargpt did
/// not write is always Error busy. Other errors: io.
OwnFolder new_run(const std::string& wanted, const std::string& config_name, bool overwrite,
                  const std::string& program_version = "");

}  // namespace chargpt
