#include "compare/same_training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "report/files/metrics.h"
#include "report/format.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr double allowed_of_first_steps = 1e-4;

/// Losses by step and name; NaN for null, which means a loss that is not finite.
using Losses = std::map<std::pair<std::int64_t, std::string>, double>;

/// Reads the losses up to step `last`.
Losses losses_of(const fs::path& run, std::int64_t last) {
  Losses losses;
  MetricsReader reader(run / "metrics.jsonl");
  const auto take = [&](const Json& row) {
    const double step = number_in(row, "step");
    if (!(step >= 0 && step <= static_cast<double>(last))) return;
    const auto whole = static_cast<std::int64_t>(step);
    if (row["kind"] == "train") losses[{whole, "loss"}] = number_in(row, "loss");
    if (row["kind"] != "eval") return;
    for (const char* what : {"train_loss", "val_loss", "averaged_val_loss"})
      if (row.contains(what)) losses[{whole, what}] = number_in(row, what);
  };
  reader.read([&losses] { losses.clear(); }, take);
  return losses;
}

Losses losses_to_repeat(const fs::path& run, std::int64_t last) {
  Losses losses = losses_of(run, last);
  if (losses.empty())
    throw Error(ExitCode::data, run / "metrics.jsonl",
                " contains no losses of the steps to repeat: there is nothing to compare");
  return losses;
}

bool same_tensors(const Checkpoint& one, const Checkpoint& other) {
  return std::ranges::equal(one.file.tensors, other.file.tensors, [](const TensorView& a, const TensorView& b) {
    return a.name == b.name && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
  });
}

bool same_bits(const Difference& loss) {
  return loss.then == loss.now || (std::isnan(loss.then) && std::isnan(loss.now));
}

/// Once one bit differs, losses after the first steps may differ by any amount.
bool within_rounding(const Difference& loss) {
  constexpr std::int64_t first_steps = 20;
  constexpr double allowed_of_evaluations = 0.02;
  const double distance = std::abs(loss.now - loss.then);
  if (loss.what != "loss") return distance <= allowed_of_evaluations;
  return std::isfinite(distance) &&
         (loss.step > first_steps || distance <= allowed_of_first_steps * std::abs(loss.then));
}

/// Compares the checkpoints that both runs have: adds equal steps to `same`, returns the first different one.
std::optional<Difference> compare_weights(const fs::path& run, const fs::path& again, std::vector<std::int64_t>& same) {
  std::optional<Difference> first;
  const std::vector<fs::path> now = list_checkpoints(again);
  for (const fs::path& then : list_checkpoints(run)) {
    const auto found = std::ranges::find(now, then.filename(), &fs::path::filename);
    if (found == now.end()) continue;
    const Checkpoint one = load_checkpoint(then, "last", /*with_optimizer=*/true),
                     other = load_checkpoint(*found, "last", /*with_optimizer=*/true);
    if (same_tensors(one, other))
      same.push_back(one.state.step);
    else if (!first)
      first = Difference{one.state.step, "weights", nothing, nothing};
  }
  return first;
}

std::string words(const Difference& difference) {
  const std::string step = "step " + format_count(difference.step);
  if (difference.what == "weights") return "the weights of " + step;
  const auto shown = [](double loss) { return std::isnan(loss) ? "none" : Json(loss).dump(); };
  return step + ", " + difference.what + " " + shown(difference.then) + " then and " + shown(difference.now) + " now";
}

}  // namespace

void check_losses(const fs::path& run, std::int64_t last) {
  losses_to_repeat(run, last);
}

/// Different weights with equal losses are not rounding: the losses would differ too.
SameTraining compare_trainings(const fs::path& run, const fs::path& again, std::int64_t last) {
  SameTraining same;
  const Losses then = losses_to_repeat(run, last), now = losses_of(again, last);
  std::optional<Difference> other_bits, beyond_rounding;
  for (const auto& [place, loss] : then) {
    const auto found = now.find(place);
    const Difference each{place.first, place.second, loss, found == now.end() ? nothing : found->second};
    if (found != now.end()) ++same.losses;
    if (found != now.end() && same_bits(each)) continue;
    if (!other_bits) other_bits = each;
    if (!beyond_rounding && (found == now.end() || !within_rounding(each))) beyond_rounding = each;
  }
  const std::optional<Difference> other_weights = compare_weights(run, again, same.same_weights);
  if (beyond_rounding || (other_weights && !other_bits))
    same.verdict = Verdict::differs;
  else if (other_bits)
    same.verdict = Verdict::rounding;
  same.difference = beyond_rounding ? beyond_rounding : other_bits ? other_bits : other_weights;
  return same;
}

std::string to_text(const SameTraining& same) {
  const std::string losses = format_count(same.losses, same.losses == 1 ? "loss" : "losse");
  if (same.verdict == Verdict::differs) return "different: " + words(*same.difference);
  if (same.verdict == Verdict::rounding)
    return "the same within rounding, of " + losses + "; the first difference: " + words(*same.difference);
  std::vector<std::string> steps;
  for (const std::int64_t step : same.same_weights) steps.push_back(format_count(step));
  if (steps.empty()) return "the same bits: " + losses;
  return "the same bits: " + losses + ", and the weights of step" + (steps.size() > 1 ? "s " : " ") +
         joined(steps, ", ");
}

Json to_json(const SameTraining& same) {
  Json json = {{"verdict", enum_name(same.verdict)},
               {"compared_losses", same.losses},
               {"same_weights", same.same_weights},
               {"difference", nullptr}};
  if (const auto& first = same.difference)
    json["difference"] = {{"step", first->step}, {"what", first->what}, {"then", first->then}, {"now", first->now}};
  return json;
}

}  // namespace chargpt
