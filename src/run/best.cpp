#include "run/best.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/contents.h"
#include "report/format.h"

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

/// Infinite for what cannot be read.
double loss_of(const CheckpointFolder& folder, const std::string& name) {
  const auto state = readable_state(folder, name);
  return state ? evaluated_loss(*state) : infinite;
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

}  // namespace

double evaluated_loss(const RunState& state) {
  double loss = infinite;
  for (const double each : {state.val_loss, state.averaged_val_loss})
    if (each < loss) loss = each;  // false for a NaN
  return loss;
}

std::optional<Best> best_of(const CheckpointFolder& folder, const RunState& state) {
  if (state.best_step <= 0) return std::nullopt;
  const std::string lost = loss_of_the_best(folder, state);
  if (lost.empty()) return Best{checkpoint_name(state.best_step), ""};
  std::string lowest;
  double loss = infinite;
  for (const std::string& name : folder.names()) {
    if (*checkpoint_step(name) > state.step) continue;
    const double here = *checkpoint_step(name) == 0 ? infinite : loss_of(folder, name);
    if (here >= loss || here < state.best_val_loss) continue;  // lower than its best: not of this training
    lowest = name;
    loss = here;
  }
  if (lowest.empty()) return std::nullopt;
  return Best{lowest, "the best checkpoint of " + printable_path(folder.path()) + ", " +
                          checkpoint_name(state.best_step) + " with a validation loss of " +
                          format_fixed(state.best_val_loss, 4) + ", " + lost + "; using " + lowest + " with " +
                          format_fixed(loss, 4) + ", the best that is there"};
}

std::optional<RunState> newest_state(const CheckpointFolder& folder, const std::vector<std::string>& order) {
  for (const std::string& name : order)
    if (auto state = readable_state(folder, name)) return state;
  return std::nullopt;
}

std::vector<std::string> by_loss(const CheckpointFolder& folder, std::vector<std::string> names, std::int64_t step) {
  std::vector<std::pair<double, std::string>> judged;
  for (std::string& name : names) {
    const bool counts = *checkpoint_step(name) > 0 && *checkpoint_step(name) <= step;
    judged.emplace_back(counts ? loss_of(folder, name) : infinite, std::move(name));
  }
  std::stable_sort(judged.begin(), judged.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(judged.begin(), judged.end(), names.begin(), [](auto& each) { return std::move(each.second); });
  return names;
}

}  // namespace chargpt
