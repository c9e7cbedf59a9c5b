// Saving a run under way: its folder, and what its checkpoints hold. Knows no loss and no policy: it saves what it is
// told to, when it is told to.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/files.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"
#include "text/corpus.h"
#include "train/emitter.h"
#include "train/learner.h"

namespace chargpt {

class Saver {
 public:
  /// Saves `learner` and `config` as they are when it is told to; all must outlive it.
  Saver(const ResolvedConfig& config, const Vocabulary& vocabulary, Learner& learner, const EventEmitter& emitter);

  /// The folder to save in; without one nothing is saved. Error io if it does not exist.
  void save_in(std::filesystem::path run);

  const std::filesystem::path& run() const { return run_; }
  /// Error io if the folder was renamed or removed: there is no point in going on without it.
  void check() const;

  /// The run is already at this checkpoint.
  void go_on_from(const Checkpoint& checkpoint);
  /// A checkpoint of `state`, unless nothing is saved. Error io where two attempts failed.
  void save(const RunState& state);
  bool has_saved(std::int64_t step) const { return saved_step_ == step; }
  /// The newest checkpoint, or the one that the run goes on from; empty: there is none.
  const std::filesystem::path& last_checkpoint() const { return last_checkpoint_; }

 private:
  SavedCheckpoint write(const RunState& state);

  std::filesystem::path run_;
  Descriptor folder_{-1};  ///< of run_, to notice that it was renamed or removed
  const ResolvedConfig& config_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
  std::int64_t saved_step_ = RunProgress::no_step;
  std::filesystem::path last_checkpoint_;
};

}  // namespace chargpt
