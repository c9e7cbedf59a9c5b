// Which checkpoint of a run is its best. The one truth is what the newest state says; the file BEST only repeats it for
// people and other programs. A state names a step and a loss, and the checkpoint of that step is the best only if its
// own state has that loss: the folder may have gone, or hold what another training wrote there since.
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

struct Best {
  std::string name;
  /// Empty where this is what the state calls best; else a line that says what became of that one.
  std::string notice;
};

/// The best of a run that stands at `state`: what the state calls so, where that is there (a damaged one, which cannot
/// say its loss, counts as being there); else the lowest loss of those up to that step which that training can have
/// written. None where nothing was evaluated.
std::optional<Best> best_of(const CheckpointFolder& folder, const RunState& state);

/// The state of the first checkpoint in `order` that has a readable one; none where none has.
std::optional<RunState> newest_state(const CheckpointFolder& folder, const std::vector<std::string>& order);

/// `names` of checkpoints by loss, lowest first; those that were not evaluated, or cannot be read, or are later than
/// `step`, after them in their old order.
std::vector<std::string> by_loss(const CheckpointFolder& folder, std::vector<std::string> names, std::int64_t step);

}  // namespace chargpt
