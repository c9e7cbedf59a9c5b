// Saves checkpoints of a training run in its folder. Independent of losses and policies: the trainer decides when to
// save.
#pragma once

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

  /// Saves a checkpoint of `state`, if there is a folder. Error io if two attempts failed.
  void save(const RunState& state);

  std::filesystem::path last_checkpoint;  ///< the newest, or the one from which the run continues; empty: none

 private:
  SavedCheckpoint write(const RunState& state);

  std::filesystem::path run_;
  Descriptor folder_{-1};  ///< of run_, to detect that it was renamed or removed
  const ResolvedConfig& config_;
  const Vocabulary& vocabulary_;
  Learner& learner_;
  const EventEmitter& emitter_;
};

}  // namespace chargpt
