// Saving a run under way: where its folder is now, even if renamed meanwhile, and what its checkpoints hold. Knows no
// loss and no policy: it saves what it is told to, when it is told to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/open_folder.h"
#include "checkpoint/checkpoint.h"
#include "learner/learner.h"
#include "run/checkpoints.h"
#include "text/corpus.h"
#include "train/emitter.h"

namespace chargpt {

/// The run folder of a training.
class TrainingFolder {
 public:
  /// `path` empty: nothing is saved. It need not exist yet.
  TrainingFolder(std::filesystem::path path, const EventEmitter& emitter);

  bool saves() const { return !path_.empty(); }
  /// To be called before the first path(). Error io if the folder to save in does not exist.
  void open();
  /// Where it is now; a rename is noticed once. Error io if it is gone.
  const std::filesystem::path& path();
  /// Error io if it is gone: there is no point in going on without it.
  void check();
  /// The path last known, without looking.
  const std::filesystem::path& known_path() const { return path_; }
  /// To be saved in, wherever it is now. Error io if it is gone.
  const OpenFolder& folder() {
    path();
    return *folder_;
  }
  /// Where a checkpoint is now, if the folder was renamed since.
  std::filesystem::path moved(const std::filesystem::path& checkpoint) const;

 private:
  std::filesystem::path path_;
  bool renamed_ = false;
  std::unique_ptr<OpenFolder> folder_;
  const EventEmitter& emitter_;
};

class Saver {
 public:
  /// Saves `learner` and `config` as they are when it is told to; all must outlive it.
  Saver(TrainingFolder& folder, const ResolvedConfig& config, const Vocabulary& vocabulary, Learner& learner,
        const EventEmitter& emitter);

  /// The run is already at this checkpoint.
  void go_on_from(const Checkpoint& checkpoint);
  /// A checkpoint of `state`, unless nothing is saved. Error io where two attempts failed.
  void save(const RunState& state);
  bool has_saved(std::int64_t step) const { return saved_step_ == step; }
  /// At the end: repairs the file BEST if a save could not.
  void finish(const RunState& state);
  /// The newest checkpoint, or the one that the run goes on from, where it is now; empty: there is none.
  std::filesystem::path last_checkpoint() const { return folder_.moved(last_checkpoint_); }

 private:
  SavedCheckpoint write(const RunState& state);
  SavedCheckpoint write_tried_twice(const RunState& state);

  TrainingFolder& folder_;
  const ResolvedConfig& config_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
  std::int64_t saved_step_ = RunProgress::no_step;
  std::filesystem::path last_checkpoint_;
  bool pointers_behind_ = false;  ///< BEST does not name the best yet
};

}  // namespace chargpt
