// Where a checkpoint stands among those of its run: is it the best, is it the last, and was the last evaluated.
#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace chargpt {

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
