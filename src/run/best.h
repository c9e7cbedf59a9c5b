// Which checkpoint of a run is its best. The one truth is what the newest state says; the file BEST only repeats it for
// people and other programs. A state names a step and a loss, and the checkpoint of that step is the best only if its
// own state has that loss: the folder may have gone, or hold what another training wrote there since. And where any
// checkpoint stands beside the best and the last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "run/checkpoint_folder.h"

namespace chargpt {

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

/// A checkpoint among those of its run.
struct Standing {
  std::int64_t step = 0;
  std::int64_t last_step = RunProgress::no_step;  ///< no_step: not known, as of a checkpoint outside a run
  std::int64_t best_step = RunProgress::no_step;  ///< no_step: not known, or no step was evaluated
  bool last_evaluated = false;                    ///< the weights of the last have a validation loss

  bool is_last() const { return step == last_step; }
  bool is_best() const { return step == best_step; }
};

/// From what the run's newest state says. Never an Error: what cannot be read is not known.
Standing standing_of(const Checkpoint& checkpoint);

/// "step 2,000, the best; the last is step 2,334 (not evaluated)"
std::string to_text(const Standing& standing);

}  // namespace chargpt
