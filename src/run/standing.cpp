#include "run/standing.h"

#include <cmath>

#include "base/error.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/contents.h"
#include "report/format.h"
#include "run/best.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"

namespace chargpt {

namespace {

/// A loss that is not a number was measured too.
bool was_evaluated(const RunState& state) {
  return !std::isinf(state.val_loss) || !std::isinf(state.averaged_val_loss);
}

std::string named(std::int64_t step) {
  return "step " + format_count(step);
}

}  // namespace

Standing standing_of(const Checkpoint& checkpoint) {
  Standing standing{.step = checkpoint.state.step};
  const std::filesystem::path run = run_place(checkpoint.path, "").run;
  if (run == checkpoint.path) return standing;
  try {
    const CheckpointFolder folder(run);
    const std::string name = checkpoint_name(last_step(run));
    const RunState last = read_checked_state(folder.path() / name);
    standing.last_step = last.step;
    standing.last_evaluated = was_evaluated(last);
    if (const auto best = best_of(folder, last)) standing.best_step = *checkpoint_step(*best);
  } catch (const Error&) {  // damaged, or replaced by a training meanwhile
  }
  return standing;
}

std::string to_text(const Standing& standing) {
  const std::string unscored = standing.last_evaluated ? "" : " (not evaluated)";
  const bool knows_last = standing.last_step != RunProgress::no_step;
  std::string text = named(standing.step);
  if (standing.is_best()) text += standing.is_last() ? ", the best and the last" : ", the best";
  if (standing.is_last() && !standing.is_best()) text += ", the last" + unscored;
  if (knows_last && !standing.is_last()) text += "; the last is " + named(standing.last_step) + unscored;
  if (standing.best_step != RunProgress::no_step && !standing.is_best())
    text += "; the best is " + named(standing.best_step);
  return text;
}

}  // namespace chargpt
