#include "train/nonfinite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/names.h"
#include "base/paths.h"
#include "report/format.h"
#include "run/checkpoints.h"

namespace chargpt {
namespace {

constexpr int most_skips_in_a_row = 100;
constexpr int most_rollbacks_in_a_row = 10;  ///< from one checkpoint

/// Nothing here is negative except the sign of a NaN, which means nothing.
std::string figures_of(const StepResult& result, const std::string& of_loss = "") {
  return line_of(" has loss ", std::abs(result.loss), of_loss, " and gradient norm ", std::abs(result.grad_norm));
}

bool is_worse(const GradientNorm& a, const GradientNorm& b) {
  if (std::isnan(a.norm) != std::isnan(b.norm)) return std::isnan(a.norm);
  return a.norm > b.norm;
}

/// In float64: the sum of squares of a finite gradient must not look infinite here.
double norm_of(std::span<const float> gradient) {
  double squares = 0;
  for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
  return std::abs(std::sqrt(squares));  // a NaN without its sign
}

}  // namespace

NonfinitePolicy::NonfinitePolicy(Learner& learner, RunProgress& progress, const Saver& saver,
                                 const EventEmitter& emitter)
    : learner_(learner), progress_(progress), saver_(saver), emitter_(emitter), policy_(learner.config.on_nonfinite) {}

/// The rollback point is what an uninterrupted run would return to, if that is not the checkpoint itself.
std::string NonfinitePolicy::resume(const Checkpoint& checkpoint) {
  const std::int64_t step = checkpoint.state.rollback_step;
  std::string notice;
  last_good_.reset();
  try {
    if (rolls_back() && step != RunProgress::no_step && step != checkpoint.state.step) {
      const Checkpoint kept =
          load_checkpoint(checkpoint.path.parent_path().parent_path(), line_of("step-", step), /*with_optimizer=*/true);
      last_good_ = RollbackPoint{.step = step, .trend = kept.state.trend, .checkpoint = kept.path};
    }
  } catch (const Error& failure) {
    notice = line_of("not bit-exact from the next rollback on, which will return to step ", checkpoint.state.step, ": ",
                     failure.what());
  }
  progress_.rollback_step = last_good_ ? last_good_->step : RunProgress::no_step;
  if (!rolls_back()) progress_.rollbacks_in_a_row = 0;
  if (policy_ != OnNonfinite::skip) progress_.skips_in_a_row = 0;
  just_rolled_back_ = progress_.rollbacks_in_a_row > 0;
  return notice;
}

void NonfinitePolicy::before_first_step() {
  if (!last_good_) keep_rollback_point();
}

bool NonfinitePolicy::accepts(const StepResult& result) {
  const bool spike = result.loss > spike_threshold(progress_.trend);
  if (!result.updated || (spike && rolls_back())) {
    rolls_back() ? roll_back(diagnosed(result)) : skip(result);
    return false;
  }
  if (spike) emitter_.notice("loss spike: " + diagnosed(result));
  progress_.trend = followed_by(progress_.trend, result.loss);
  progress_.skips_in_a_row = 0;
  just_rolled_back_ = false;
  return true;
}

bool NonfinitePolicy::takes_back(double val_loss) {
  if (std::isfinite(val_loss) || policy_ == OnNonfinite::skip) return false;
  const std::string what =
      line_of("the validation loss after ", format_count(progress_.step, "step"), " is ", std::abs(val_loss));
  if (!rolls_back()) diverged(what);
  roll_back(what);
  return true;
}

void NonfinitePolicy::keep_rollback_point() {
  if (!rolls_back()) return;
  if (!learner_.current().is_finite()) roll_back(of_weights());
  last_good_ =
      RollbackPoint{.step = progress_.step, .trend = progress_.trend, .snapshot = learner_.current().snapshot()};
  progress_.rollback_step = progress_.step;
  if (!just_rolled_back_) progress_.rollbacks_in_a_row = 0;
}

void NonfinitePolicy::check_weights() const {
  if (!learner_.current().is_finite()) diverged(of_weights());
}

void NonfinitePolicy::return_to(const RollbackPoint& point) {
  if (point.snapshot) return learner_.restore(*point.snapshot);
  saver_.check();
  // A run that branched off another has a copy.
  const std::filesystem::path own = saver_.run() / "checkpoints" / point.checkpoint.filename();
  learner_.load(load_checkpoint(is_there(own) ? own : point.checkpoint, "last", /*with_optimizer=*/true));
}

void NonfinitePolicy::roll_back(const std::string& what) {
  if (!last_good_) diverged(what);
  if (++progress_.rollbacks_in_a_row >= most_rollbacks_in_a_row)
    diverged(line_of(what, ", the ", progress_.rollbacks_in_a_row, "th time in a row since step ", last_good_->step));
  ++progress_.rollbacks;
  just_rolled_back_ = true;
  return_to(*last_good_);
  progress_.trend = last_good_->trend;
  emitter_.notice(line_of(what, ": going back to the weights and moments of step ", last_good_->step));
}

void NonfinitePolicy::skip(const StepResult& result) {
  if (policy_ == OnNonfinite::stop) diverged(diagnosed(result));
  const bool first = progress_.skips_in_a_row == 0;
  const std::string what = first ? diagnosed(result) : line_of("step ", progress_.step + 1, " too", figures_of(result));
  if (++progress_.skips_in_a_row >= most_skips_in_a_row)
    diverged(line_of(what, ", the ", progress_.skips_in_a_row, "th skipped in a row"));
  emitter_.notice(what + ": skipped");
}

std::string NonfinitePolicy::diagnosed(const StepResult& result) const {
  learner_.engine->give_gradients();
  const std::string before = progress_.trend.count > 0 ? line_of(" after a mean of ", progress_.trend.mean) : "";
  return line_of("step ", progress_.step + 1, figures_of(result, before), " (",
                 diagnosis(learner_.batches.starts(progress_.step), learner_.arena), ")");
}

std::string NonfinitePolicy::of_weights() const {
  return line_of("after ", format_count(progress_.step, "step"), " some weights are not finite");
}

void NonfinitePolicy::diverged(const std::string& what) const {
  const std::filesystem::path last = saver_.last_checkpoint();
  const std::string kept =
      last.empty() ? "no checkpoint had been saved yet" : "the last good checkpoint is " + last.string();
  const std::string clip = learner_.config.grad_clip > 0 ? "" : ", or set train.grad_clip = 1";
  throw Error(ExitCode::diverged, "training diverged: ", what, "; ", kept,
              "; lower train.learning_rate = ", learner_.config.learning_rate, clip);
}

LossTrend followed_by(const LossTrend& trend, double loss) {
  constexpr std::int64_t memory = 50;  // losses that the trend looks back
  if (!std::isfinite(loss)) return trend;
  const std::int64_t count = trend.count + 1;
  const double weight = 1 / static_cast<double>(std::min(count, memory));
  const double jump = loss - trend.mean;
  return {.mean = trend.mean + weight * jump,
          .variance = (1 - weight) * (trend.variance + weight * jump * jump),
          .count = count};
}

double spike_threshold(const LossTrend& trend) {
  constexpr std::int64_t fewest_losses = 20;        // below which the noise is unknown
  constexpr double least_jump = 1, deviations = 6;  // nats; standard deviations
  if (trend.count < fewest_losses) return std::numeric_limits<double>::infinity();
  return trend.mean + std::max(least_jump, deviations * std::sqrt(std::max(trend.variance, 0.0)));
}

std::vector<GradientNorm> gradient_norms(const ParameterArena& arena) {
  std::vector<GradientNorm> norms;
  for (const ParameterGroup& group : arena.groups())
    for (const ParameterSlot& slot : group.slots) norms.push_back({slot.name, norm_of(slot.in(group.gradients))});
  std::stable_sort(norms.begin(), norms.end(), is_worse);
  return norms;
}

std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena) {
  constexpr std::size_t most_windows = 16, most_norms = 4;
  std::vector<std::string> starts, norms;
  for (const std::int64_t start : window_starts) starts.push_back(std::to_string(start));
  for (const auto& [name, norm] : gradient_norms(arena)) norms.push_back(line_of(name, " ", norm));
  const std::string all = starts.size() > most_windows ? line_of(", … (", starts.size(), " in all)") : "";
  starts.resize(std::min(starts.size(), most_windows));
  norms.resize(std::min(norms.size(), most_norms));
  return line_of("its windows start at ", joined(starts, ", "), all,
                 " of the train split; largest gradient norms: ", joined(norms, ", "));
}

}  // namespace chargpt
