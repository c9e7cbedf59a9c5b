#include "compare/repetition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/files/metrics.h"
#include "run/checkpoint.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

namespace fs = std::filesystem;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t first_steps = 20;
constexpr double allowed_of_first_steps = 1e-4, allowed_of_evaluations = 0.02;
constexpr const char* losses_of_evaluation[] = {"train_loss", "val_loss", "averaged_val_loss"};

bool same_tensors(const Checkpoint& one, const Checkpoint& other) {
  return std::ranges::equal(one.file.tensors().all(), other.file.tensors().all(),
                            [](const TensorView& a, const TensorView& b) {
                              return a.name == b.name && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
                            });
}

}  // namespace

Repetition::Repetition(const fs::path& run, std::int64_t last, const std::atomic<bool>& outside)
    : run_(run), last_(last), outside_(outside) {
  MetricsReader reader(run / "metrics.jsonl");
  const auto take = [this](const nlohmann::ordered_json& row) {
    const double step = number_in(row, "step");
    if (!(step >= 0 && step <= static_cast<double>(last_))) return;
    const auto whole = static_cast<std::int64_t>(step);
    if (row["kind"] == "train") saved_[{whole, "loss"}] = number_in(row, "loss");
    if (row["kind"] != "eval") return;
    for (const char* what : losses_of_evaluation)
      if (row.contains(what)) saved_[{whole, what}] = number_in(row, what);
  };
  reader.read([this] { saved_.clear(); }, take);
  complaint_ = reader.complaint();
  last_evaluated_ = saved_.contains({last_, "val_loss"});
  if (saved_.empty())
    throw Error(ExitCode::data, run / "metrics.jsonl",
                " holds no losses of the steps to repeat: there is nothing to compare");
}

void Repetition::look() {
  if (outside_.load()) stop_ = true;
}

void Repetition::compare(std::int64_t step, const std::string& what, double now, double allowed) {
  const auto found = saved_.find({step, what});
  if (found == saved_.end()) return;
  const double then = found->second;
  saved_.erase(found);
  ++compared_;
  // A loss that was NaN or infinite is null in metrics.jsonl, and NaN here.
  if (then == now || (std::isnan(then) && !std::isfinite(now))) return;
  const Difference difference{step, what, then, now};
  if (!other_bits_) other_bits_ = difference;
  if (!other_figure_ && !(std::abs(now - then) <= allowed_of_first_steps * std::abs(then))) other_figure_ = difference;
  if (beyond_rounding_ || std::abs(now - then) <= allowed) return;
  beyond_rounding_ = difference;
  stop_ = true;
}

void Repetition::on(const StepEvent& event) {
  const bool is_first = event.step <= first_steps;
  const auto found = saved_.find({event.step, "loss"});
  const double relative = found == saved_.end() ? 0 : allowed_of_first_steps * std::abs(found->second);
  compare(event.step, "loss", event.loss, is_first ? relative : std::numeric_limits<double>::infinity());
  if (event.step >= last_ && !last_evaluated_) stop_ = ended_ = true;
  look();
}

void Repetition::on(const EvalEvent& event) {
  compare(event.step, "train_loss", event.train_loss.value_or(nothing), allowed_of_evaluations);
  compare(event.step, "val_loss", event.val_loss, allowed_of_evaluations);
  compare(event.step, "averaged_val_loss", event.averaged_val_loss.value_or(nothing), allowed_of_evaluations);
  look();
}

void Repetition::on(const CheckpointEvent& event) {
  if (event.step >= last_) stop_ = ended_ = true;
}

void Repetition::compare_weights(const fs::path& again) {
  const std::vector<fs::path> now = list_checkpoints(again);
  for (const fs::path& then : list_checkpoints(run_)) {
    const auto same_name = [&then](const fs::path& one) { return one.filename() == then.filename(); };
    const auto found = std::ranges::find_if(now, same_name);
    if (found == now.end()) continue;
    const Checkpoint one = load_checkpoint(then, "last", /*with_optimizer=*/true),
                     other = load_checkpoint(*found, "last", /*with_optimizer=*/true);
    if (same_tensors(one, other))
      same_weights_.push_back(one.state.step);
    else if (!other_weights_)
      other_weights_ = Difference{one.state.step, "weights", nothing, nothing};
  }
}

bool Repetition::another_was_saved() const {
  return other_figure_ && std::ranges::any_of(same_weights_, [this](auto step) { return step >= other_figure_->step; });
}

std::optional<Difference> Repetition::difference() const {
  if (beyond_rounding_) return beyond_rounding_;
  if (another_was_saved()) return other_figure_;
  if (!saved_.empty())
    return Difference{saved_.begin()->first.first, saved_.begin()->first.second, saved_.begin()->second, nothing};
  return other_bits_ ? other_bits_ : other_weights_;
}

/// Weights that differ where no loss does are not rounding: the losses would tell. Nor is a loss before weights that do
/// not differ.
Verdict Repetition::verdict() const {
  if (beyond_rounding_ || another_was_saved() || !saved_.empty() || (other_weights_ && !other_bits_))
    return Verdict::differs;
  return other_bits_ ? Verdict::rounding : Verdict::bits;
}

}  // namespace chargpt
