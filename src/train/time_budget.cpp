#include "train/time_budget.h"

#include <algorithm>
#include <cmath>

namespace chargpt {
namespace {

// Of train.max_seconds:
constexpr double planned_end = 0.97;
constexpr double latest_end = 0.99;  ///< where evaluations are cut off
constexpr double worth_ending_earlier = 0.01, worth_going_on = 0.015;
constexpr double most_for_an_evaluation = 0.03;  ///< so that one three times slower than the last still ends in time

/// Of a run's steps, in its decay: see decay_begin().
constexpr double decay_fraction = 0.8;
/// Steps of this process before its pace is known: the first is cold.
constexpr std::int64_t warm = 2;

}  // namespace

TimeBudget::TimeBudget(const Config& config, std::int64_t most_steps)
    : config_(config), seconds_(config.train.max_seconds), most_steps_(most_steps) {}

void TimeBudget::expect(double seconds_per_step, const ClosingSeconds& closing, double now) {
  spent_ = std::max(1e-9, seconds_per_step);
  closing_ = closing;
  now_ = now;
}

/// Steps of long ago tell less about those to come; how long that is depends on how long the run still goes on.
void TimeBudget::follow_step(double now) {
  constexpr double part_remembered = 0.25;  // of the time left
  const double spent = std::max(1e-9, now - now_), memory = part_remembered * std::max(spent, seconds_ - now);
  const double kept = seen_++ < warm ? 0 : std::exp(-spent / memory);
  spent_ = kept * spent_ + spent;
  steps_ = kept * steps_ + 1;
  now_ = now;
  if (seen_ == warm + 1) keep_in_steps(&ClosingSeconds::evaluation);  // of the one before the first step
}

void TimeBudget::follow(double ClosingSeconds::*part, double spent, double now) {
  closing_.*part = spent;
  now_ = now;
  if (seen_ >= warm) keep_in_steps(part);
}

void TimeBudget::keep_in_steps(double ClosingSeconds::*part) {
  auto& [last, before, earliest] = closing_in_steps_;
  earliest.*part = before.*part;
  before.*part = last.*part;
  last.*part = closing_.*part / pace();
}

/// A machine that has become slower is slower in all that it does. Of the last three measurements the median: one that
/// the machine's speed changed within is no measure.
double TimeBudget::expected(double ClosingSeconds::*part) const {
  const auto& [last, before, earliest] = closing_in_steps_;
  const double a = last.*part, b = before.*part, c = earliest.*part;
  if (a == 0) return closing_.*part;
  const double in_steps = b == 0 ? a : c == 0 ? std::min(a, b) : std::max(std::min(a, b), std::min(std::max(a, b), c));
  return in_steps * pace();
}

double TimeBudget::closing() const {
  return expected(&ClosingSeconds::evaluation) + sample_and_save();
}

/// A disk does not become faster with the processor.
double TimeBudget::sample_and_save() const {
  return expected(&ClosingSeconds::sample) + std::max(closing_.save, expected(&ClosingSeconds::save));
}

/// For steps, and for evaluations on the way. Of long steps half a one more, so that the end is nearest to the plan.
double TimeBudget::seconds_left() const {
  return planned_end * seconds_ + std::min(pace() / 2, (latest_end - planned_end) / 2 * seconds_) - now_ - closing();
}

/// With an evaluation at each eval_interval after which another step has time.
std::int64_t TimeBudget::steps_left(std::int64_t step) const {
  constexpr double most = 1e12;
  const double interval = static_cast<double>(config_.eval.eval_interval);
  const double first = interval - static_cast<double>(step % config_.eval.eval_interval);
  const double stop = closing(), left = seconds_left(), after_first = left - first * pace() - stop;
  double steps = left / pace();
  if (after_first >= pace()) {
    const double period = interval * pace() + stop, periods = std::floor(after_first / period);
    steps = first + periods * interval + std::floor((after_first - periods * period) / pace());
  }
  return std::min(static_cast<std::int64_t>(std::clamp(steps, 0.0, most)), most_steps_ - step);
}

/// In steps, so that a machine that was busy meanwhile changes nothing of the schedule's form.
std::int64_t TimeBudget::decay_begin(std::int64_t last) const {
  const TrainConfig& train = config_.train;
  if (train.lr_schedule == LrSchedule::constant) return last;
  const double part = train.lr_schedule == LrSchedule::wsd ? train.wsd_decay_fraction : decay_fraction;
  const std::int64_t begin = last - std::llround(part * static_cast<double>(last));
  return std::min(last, std::max(begin, train.warmup_iters));
}

/// The end may be revised once in a sixteenth of the steps that were left: as often as it takes, and seldom early on.
bool TimeBudget::worth_revising(const Integers& decay_steps, std::int64_t step, std::int64_t left) const {
  const std::int64_t from = decay_steps.end()[-2], last = decay_steps.back();
  if (step < last && (step - from) * 16 < last - from) return false;
  const double seconds_early = static_cast<double>(left - (last - step)) * pace();
  return seconds_early < -worth_ending_earlier * seconds_ || seconds_early > worth_going_on * seconds_;
}

/// With what else takes `seconds`: the plan leaves some time over for its last steps.
bool TimeBudget::still_fit(std::int64_t steps, double seconds) const {
  return now_ + seconds + static_cast<double>(steps) * pace() + closing() <= latest_end * seconds_;
}

/// By a guess nothing ends: the first steps of a process are made while there is time.
std::int64_t TimeBudget::steps_to_make(std::int64_t step) const {
  const bool over = now_ + closing() >= planned_end * seconds_;
  const std::int64_t least = seen_ == 0 && !over ? warm : step == 0 ? 1 : 0;
  return std::min(std::max(steps_left(step), least), most_steps_ - step);
}

void TimeBudget::revise(Integers& decay_steps, std::int64_t step) {
  const std::int64_t left = steps_to_make(step), last = step + left;
  const std::int64_t planned = decay_steps.empty() ? last : decay_steps.back();
  if (left == 0 && still_fit(planned - step, 0)) return;
  if (decay_steps.empty() || decay_steps[0] >= step) {  // not begun
    const std::int64_t earliest = step + std::max<std::int64_t>(0, warm - seen_);
    decay_steps = {std::min(last, std::max(decay_begin(last), earliest)), last};
  } else if ((left == 0 && planned > step) || (seen_ >= warm && worth_revising(decay_steps, step, left))) {
    decay_steps.insert(decay_steps.end(), {step, last});
  }
  cut_ = left == 0 && planned - step > std::max<std::int64_t>(1, planned / 20);
}

bool TimeBudget::has_time_on_the_way(std::int64_t steps_to_come) const {
  return still_fit(steps_to_come, closing());
}

double TimeBudget::seconds_for_evaluation(bool last) const {
  const double left = latest_end * seconds_ - now_ - sample_and_save();
  return last ? left : std::min(left, most_for_an_evaluation * seconds_);
}

double TimeBudget::spare_seconds() const {
  return (1 - latest_end) * seconds_;
}

}  // namespace chargpt
