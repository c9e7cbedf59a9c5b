// Which checkpoint is the best, and what is said of the others; see checkpoint_folder.h and checkpoints.h.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "report/format.h"
#include "run/checkpoint_folder.h"
#include "run/checkpoints.h"
#include "run/run_folder.h"

namespace chargpt {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// None where it cannot be read, or not now.
std::optional<RunState> readable_state(const CheckpointFolder& folder, const std::string& name) {
  try {
    const auto found = folder.find(name);
    return found ? std::optional(read_checked_state(*found)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What became of the checkpoint that `state` calls best; empty where it is there.
std::string loss_of_the_best(const CheckpointFolder& folder, const RunState& state) {
  const std::string name = checkpoint_name(state.best_step);
  if (state.best_step == state.step && evaluated_loss(state) == state.best_val_loss) return "";
  if (!folder.find(name)) return "is not there";
  const auto found = readable_state(folder, name);
  if (!found || evaluated_loss(*found) == state.best_val_loss) return "";
  return "was replaced by one of another training, with " + format_fixed(evaluated_loss(*found), 4);
}

/// A loss that is not a number was measured too.
bool was_evaluated(const RunState& state) {
  return !std::isinf(state.val_loss) || !std::isinf(state.averaged_val_loss);
}

std::string named(std::int64_t step) {
  return "step " + format_count(step);
}

}  // namespace

double evaluated_loss(const RunState& state) {
  double loss = infinite;
  for (const double each : {state.val_loss, state.averaged_val_loss})
    if (each < loss) loss = each;  // false for a NaN
  return loss;
}

std::optional<std::string> best_of(const CheckpointFolder& folder, const RunState& state) {
  if (state.best_step <= 0 || !loss_of_the_best(folder, state).empty()) return std::nullopt;
  return checkpoint_name(state.best_step);
}

std::string why_no_best(const CheckpointFolder& folder, const RunState& state) {
  if (state.best_step <= 0) return "no best checkpoint in " + printable_path(folder.path());
  return "the best checkpoint of " + printable_path(folder.path()) + ", " + checkpoint_name(state.best_step) +
         " with a validation loss of " + format_fixed(state.best_val_loss, 4) + ", " + loss_of_the_best(folder, state);
}

std::optional<RunState> newest_state(const CheckpointFolder& folder, const std::vector<std::string>& order) {
  for (const std::string& name : order)
    if (auto state = readable_state(folder, name)) return state;
  return std::nullopt;
}

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
