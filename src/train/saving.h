// Saves checkpoints of a training run in its folder. Independent of losses and policies: the trainer decides when to
// save.
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
  /// Saves the state that `learner` and `config` have at each call; all arguments must outlive it.
  Saver(const ResolvedConfig& config, const Vocabulary& vocabulary, Learner& learner, const EventEmitter& emitter);

  /// Sets the folder to save in; without one, save() writes nothing. Error io if it does not exist.
  void save_in(std::filesystem::path run);

  const std::filesystem::path& run() const { return run_; }
  /// Error io if the folder was renamed or removed, so that the run does not continue in vain.
  void check() const;

  /// Takes over the checkpoint from which the run continues.
  void go_on_from(const Checkpoint& checkpoint);
  /// Saves a checkpoint of `state`, if there is a folder. Error io if two attempts failed.
  void save(const RunState& state);
  bool has_saved(std::int64_t step) const { return saved_step_ == step; }
  /// The newest checkpoint, or the one from which the run continues; empty if there is none.
  const std::filesystem::path& last_checkpoint() const { return last_checkpoint_; }

 private:
  SavedCheckpoint write(const RunState& state);

  std::filesystem::path run_;
  Descriptor folder_{-1};  ///< of run_, to detect that it was renamed or removed
  const ResolvedConfig& config_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
  std::int64_t saved_step_ = RunProgress::no_step;
  std::filesystem::path last_checkpoint_;
};

}  // namespace chargpt
