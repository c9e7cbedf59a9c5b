// The folder of a run: its name, who works in it (one process at a time), and the refusal to touch what is already
// there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/open_folder.h"

namespace chargpt {

/// A run folder, and which of its checkpoints: "best", "last" or "step-N".
struct RunPlace {
  std::filesystem::path run;
  std::string checkpoint;
};

/// `run_or_checkpoint` may be RUN or RUN/checkpoints/step-N; `which` counts for the former.
RunPlace run_place(const std::filesystem::path& run_or_checkpoint, const std::string& which);

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

/// What a new run would replace, and the files that are yet to be read for it: none of them may move away with it.
struct Overwrite {
  bool allowed = false;
  std::vector<std::filesystem::path> files{};
};

/// Error usage for --overwrite without a folder: the run would get a new one, where nothing is overwritten.
void refuse_overwrite_without_run(bool overwrite, const std::string& run);

/// What NewRun would refuse, without touching anything: for a dry run. Errors: those of NewRun.
void refuse_occupied(const std::filesystem::path& folder, const Overwrite& overwrite);

/// Folders that were not there, outermost first; what is left empty of them goes again.
class MadeFolders {
 public:
  /// Makes `wanted` and those above it; where it is empty runs/<name>-<n> with the first free n. Errors: io.
  MadeFolders(const std::string& wanted, const std::string& name);
  ~MadeFolders();
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  /// The innermost.
  const std::filesystem::path& path() const { return path_; }

 private:
  void remove_empty() const;
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;
};

/// The folder of a comparison, for one process at a time; removed again if it is still empty at the end.
class ResultsFolder {
 public:
  /// `wanted` as for MadeFolders. Error busy if it is a run, or if another comparison writes its results there.
  explicit ResultsFolder(const std::string& wanted);
  ~ResultsFolder();
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;
  const std::filesystem::path& path() const { return made_.path(); }

 private:
  MadeFolders made_;
  std::optional<RunLock> lock_;
};

/// A run that makes room for another: renamed to RUN.old-N, with all that is in it, and locked. Nothing is removed. It
/// comes back under its own name unless it is told to stay.
class RunMovedAside {
 public:
  /// Errors: busy, io.
  explicit RunMovedAside(std::filesystem::path run);
  ~RunMovedAside();
  RunMovedAside(const RunMovedAside&) = delete;
  RunMovedAside& operator=(const RunMovedAside&) = delete;
  void stay() { stays_ = true; }
  const std::filesystem::path& path() const { return moved_; }

 private:
  std::filesystem::path run_, moved_;
  RunLock lock_;
  bool stays_ = false;
};

/// The folder of a new run, made and locked. Where the run does not come to begin, it is as if it had never been asked
/// for: what was made is removed, what was there is where it was.
class NewRun {
 public:
  /// `wanted` as MadeFolders'. An existing run is an Error busy with the three choices, unless it may be
  /// overwritten: then it is moved aside. So is a folder that holds anything and is no run, in any case.
  NewRun(const std::string& wanted, const std::string& config_name, const Overwrite& overwrite);
  ~NewRun();
  NewRun(const NewRun&) = delete;
  NewRun& operator=(const NewRun&) = delete;

  const std::filesystem::path& path() const { return made_.path(); }
  /// Where the run that was overwritten is now; empty: there was none.
  std::filesystem::path old_run() const { return old_ ? old_->path() : std::filesystem::path(); }
  /// From here on the folder is this run's: it is marked as one.
  void begin();
  /// There is something that a later process can use: all stays.
  void keep();

 private:
  NewRun(std::unique_ptr<RunMovedAside> old, const std::string& wanted, const std::string& config_name);

  std::unique_ptr<RunMovedAside> old_;
  MadeFolders made_;
  OpenFolder folder_;
  bool lock_is_new_ = false, begun_ = false, kept_ = false;
  std::optional<RunLock> lock_;
};

}  // namespace chargpt
