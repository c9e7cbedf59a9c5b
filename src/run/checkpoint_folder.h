// The folder RUN/checkpoints: names of checkpoints, the pointers LATEST and BEST, and how a folder comes and goes
// whole. What stands in a file is never taken as a path: only names of the form step-00002000 are.
//
// And which checkpoint is the best. The one truth is what the newest state says; the file BEST only repeats it for
// people and other programs. A state names a step and a loss, and the checkpoint of that step is the best only if its
// own state has that loss: the folder may have gone, or hold what another training wrote there since.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/open_folder.h"
#include "run/checkpoint.h"

namespace chargpt {

/// A name while its folder is being written, or removed.
std::string temporary_name(const std::string& name);

class CheckpointFolder {
 public:
  /// Error data where a link has its place.
  explicit CheckpointFolder(const OpenFolder& run);
  /// To be written to: made where it is not there, and ended what a crash left unfinished. Errors: io.
  static CheckpointFolder prepared(const OpenFolder& run);
  const std::filesystem::path& path() const { return path_; }

  /// Names of the checkpoints there, oldest first; links are none. Errors: io.
  std::vector<std::string> names() const;
  /// A checkpoint; none where there is none of that name. Errors: data, where that is a link; io.
  std::optional<OpenFolder> find(const std::string& name) const;
  /// The empty folder for a checkpoint that is to be written, under temporary_name(name). Errors: io.
  OpenFolder make(const std::string& name) const { return folder_->make(temporary_name(name)); }
  /// Gives a folder that was written whole under temporary_name(name) its name, taking it from what had it: at every
  /// moment find(name) gives the old or the new. Files that are no checkpoint's keep their places. Errors: io.
  void put(const std::string& name) const;
  /// Waits until that is on the disk, then removes what was replaced. Errors: io.
  void settle(const std::string& name) const;
  /// Removes a checkpoint, but for one that holds files which are no checkpoint's; what cannot be removed is left for
  /// the next prepared().
  void remove(const std::string& name) const;
  /// Removes a checkpoint's files from a folder, and the folder where that leaves it empty.
  void discard(const std::string& entry) const;

  /// `pointer` is "LATEST" or "BEST". None where there is none; an empty name where it does not hold one.
  /// Errors: io.
  std::optional<std::string> read_pointer(const std::string& pointer) const;
  /// Errors of both: io.
  void remove_pointer(const std::string& pointer) const;
  void write_pointer(const std::string& pointer, const std::string& name) const;

 private:
  CheckpointFolder(std::filesystem::path path, std::optional<OpenFolder> folder);
  void end_unfinished() const;
  bool is_folder(const std::string& name) const;
  void rename(const std::string& from, const std::string& to) const;
  std::filesystem::path path_;
  std::optional<OpenFolder> folder_;  ///< none where there is none yet
};

/// The lower of the losses of trained and averaged weights at the state's own step; infinite where it was not evaluated
/// or the loss is no number.
double evaluated_loss(const RunState& state);

/// The best of a run that stands at `state`: what the state calls so (a damaged one, which cannot say its loss, counts
/// as being there). None where nothing was evaluated, or that one is gone.
std::optional<std::string> best_of(const CheckpointFolder& folder, const RunState& state);
/// A line that says why, where there is none.
std::string why_no_best(const CheckpointFolder& folder, const RunState& state);

/// The state of the first checkpoint in `order` that has a readable one; none where none has.
std::optional<RunState> newest_state(const CheckpointFolder& folder, const std::vector<std::string>& order);

}  // namespace chargpt
