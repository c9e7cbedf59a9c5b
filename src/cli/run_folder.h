// The folder of a new run: its name, and the refusal to touch what is already there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// A run folder, and which of its checkpoints: "best", "last" or "step-N".
struct RunPlace {
  std::filesystem::path run;
  std::string checkpoint;
};

/// `run_or_checkpoint` may be RUN or RUN/checkpoints/step-N; `which` counts for the former.
RunPlace run_place(const std::filesystem::path& run_or_checkpoint, const std::string& which);

/// Makes a folder for the results of several trainings. `wanted` empty: runs/<name>-<n> with the first free n. One that
/// holds a run, or other files, is an Error busy.
std::filesystem::path make_run_folder(const std::string& wanted, const std::string& name);

/// The folder of a new run, made and locked. Where the run does not come to begin, it is as if it had never been asked
/// for: what was made is removed, what was there is left.
class NewRun {
 public:
  /// `wanted` as make_run_folder. An existing run is an Error busy with the three choices, unless `overwrite`.
  NewRun(const std::string& wanted, const std::string& config_name, bool overwrite);
  ~NewRun();
  NewRun(const NewRun&) = delete;
  NewRun& operator=(const NewRun&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// From here on the folder is this run's: what an overwritten run consists of is removed (never other files).
  void begin();
  /// There is something that a later process can use: all stays.
  void keep() { kept_ = true; }

 private:
  NewRun(const std::string& wanted, const std::string& config_name);

  std::vector<std::filesystem::path> made_;  ///< folders that were not there, outermost first
  std::filesystem::path path_;
  bool lock_is_new_ = false, begun_ = false, kept_ = false;
  std::optional<RunLock> lock_;
};

}  // namespace chargpt
