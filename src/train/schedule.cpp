#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"

namespace chargpt {
namespace {

constexpr std::int64_t never = 1'000'000'000'000;  ///< a number of steps
/// Seconds to reserve for the end, as a multiple of the last evaluation and save, because a machine's speed varies. One
/// more update is reserved as well: it may begin just before the share reaches 1.
constexpr double reserved = 1.2;
/// Before the next evaluation, train at least this many times as long as the last evaluation took.
constexpr float training_per_evaluation = 9;

}  // namespace

// ---- length

std::int64_t tokens_per_step(const Config& config) {
  return config.train.batch_size * config.train.gradient_accumulation_steps * config.model.block_size;
}

double training_speed(const Config& config, std::int64_t steps, double seconds) {
  return seconds > 0 ? static_cast<double>(steps * tokens_per_step(config)) / seconds : 0;
}

std::int64_t steps_of_epochs(const Config& config, std::int64_t train_tokens) {
  const double steps = std::ceil(config.train.max_epochs * static_cast<double>(train_tokens) /
                                 static_cast<double>(tokens_per_step(config)));
  if (steps > static_cast<double>(never))
    throw Error(ExitCode::usage, "train.max_epochs = ", config.train.max_epochs, " is ", steps, " steps of ",
                tokens_per_step(config), " tokens, more than ", static_cast<double>(never), "; lower it");
  return static_cast<std::int64_t>(steps);
}

std::optional<std::int64_t> most_steps(const Config& config, std::int64_t train_tokens) {
  const TrainConfig& train = config.train;
  std::optional<std::int64_t> most;
  if (train.max_iters > 0 || (train.max_epochs == 0 && train.max_seconds == 0)) most = train.max_iters;
  if (train.max_epochs > 0) most = std::min(most.value_or(never), steps_of_epochs(config, train_tokens));
  return most;
}

std::int64_t evaluation_interval(const Config& config, std::optional<std::int64_t> steps) {
  const std::int64_t given = config.eval.eval_interval;
  return given > 0 || config.train.max_seconds > 0 ? given
                                                   : std::max<std::int64_t>(1, steps.value_or(0) / evaluations_of_run);
}

// ---- learning rate

double part_of_decay(const TrainConfig& train, std::int64_t step, std::int64_t steps) {
  const auto now = static_cast<double>(step);
  const auto end = static_cast<double>(train.lr_decay_iters > 0 ? train.lr_decay_iters : steps);
  if (now >= end) return 1;
  auto begin = static_cast<double>(train.warmup_iters);
  if (train.lr_schedule == LrSchedule::wsd) begin = std::max(begin, end * (1 - train.wsd_decay_fraction));
  return now <= begin ? 0 : (now - begin) / (end - begin);
}

double part_of_decay(const TrainConfig& train, double share, double warm) {
  if (share >= 1) return 1;
  const double begin = train.lr_schedule == LrSchedule::wsd ? 1 - train.wsd_decay_fraction : 0;
  const double done = share <= warm ? 0 : (share - warm) / (1 - warm);
  return done <= begin ? 0 : (done - begin) / (1 - begin);
}

double learning_rate_at(const TrainConfig& train, std::int64_t step, double decayed) {
  const double peak = train.learning_rate;
  if (step < train.warmup_iters)
    return peak * (static_cast<double>(step) + 1) / (static_cast<double>(train.warmup_iters) + 1);
  if (train.lr_schedule == LrSchedule::constant) return peak;
  if (decayed == 1) return train.min_lr;
  const bool cosine = train.lr_schedule == LrSchedule::cosine;
  const double fallen = cosine ? 0.5 * (1 - std::cos(std::numbers::pi * decayed)) : decayed;
  return peak + (train.min_lr - peak) * fallen;
}

double learning_rate_factor(const TrainConfig& train, std::int64_t step, double decayed) {
  if (train.learning_rate > 0) return learning_rate_at(train, step, decayed) / train.learning_rate;
  TrainConfig unit = train;
  unit.learning_rate = 1;
  unit.min_lr = 0;
  return learning_rate_at(unit, step, decayed);
}

// ---- Schedule

Schedule::Schedule(const Config& config, std::int64_t train_tokens, std::vector<float> replayed, RunProgress& progress,
                   const RunClock& clock)
    : config_(config),
      replayed_(std::move(replayed)),
      progress_(progress),
      clock_(clock),
      steps_(most_steps(config, train_tokens).value_or(0)) {}

void Schedule::resume() {
  // Updates that were made without a clock get share 0.
  progress_.shares.resize(by_clock() ? static_cast<std::size_t>(progress_.step) : 0);
  for (std::int64_t update = 0; update < std::ssize(progress_.shares); ++update) follow_share(update);
  look();
}

double Schedule::seconds_left() const {
  return config_.train.max_seconds - clock_.seconds() - update_seconds_ - reserved * progress_.closing_seconds;
}

void Schedule::look() {
  if (!by_clock() || replays() > 0)
    share_ = measured();
  else
    share_ = std::max(share_, clock_.agreed(measured()));
}

/// max(s / N, t / T) for step s of N, t seconds since the first update, and T seconds for all updates and evaluations.
float Schedule::measured() const {
  const std::int64_t step = progress_.step;
  if (replays() > 0) return step < replays() ? replayed_[static_cast<std::size_t>(step)] : 1;
  const auto below_1 = [](double share) { return std::min(static_cast<float>(share), std::nextafter(1.0F, 0.0F)); };
  const bool by_steps = steps_ > 0 || !by_clock();
  if (by_steps && step >= steps_) return 1;
  const double of_steps = by_steps ? static_cast<double>(step) / static_cast<double>(steps_) : 0;
  if (!by_clock() || step == 0) return below_1(of_steps);  // at least one update is made
  const double setup = progress_.setup_seconds + (updates_begun_ ? 0 : clock_.process_seconds());
  const double spent = clock_.seconds() - setup, all = spent + seconds_left();
  return spent >= all ? 1 : below_1(std::max(spent / all, of_steps));
}

double Schedule::decayed() const {
  if (!by_clock()) return part_of_decay(config_.train, progress_.step, steps_);
  const std::int64_t warm = config_.train.warmup_iters;
  const bool known = warm < std::ssize(progress_.shares);
  return part_of_decay(config_.train, share_, known ? progress_.shares[static_cast<std::size_t>(warm)] : share_);
}

void Schedule::begin_updates() {
  if (!updates_begun_) progress_.setup_seconds += clock_.agreed(clock_.process_seconds());
  updates_begun_ = true;
}

void Schedule::follow_update(double seconds) {
  if (!by_clock()) return;
  update_seconds_ = seconds;
  progress_.shares.push_back(share_);
  follow_share(progress_.step - 1);
}

/// Decides whether an evaluation is due after this update: the run must have entered another tenth since the last one,
/// and evaluations must take at most a tenth of the time. It depends on the shares only, so a replay repeats it.
void Schedule::follow_share(std::int64_t update) {
  const float share = progress_.shares[static_cast<std::size_t>(update)];
  if (update == due_after_ || share < since_) {  // the latter if a resumed run has more time
    cost_ = update > 0 ? std::max(0.0F, share - progress_.shares[static_cast<std::size_t>(update - 1)]) : 0;
    since_ = share;
  }
  const auto tenth = [](float of) { return static_cast<std::int64_t>(evaluations_of_run * static_cast<double>(of)); };
  const bool due = tenth(share) > tenth(since_) && share - since_ >= training_per_evaluation * cost_;
  if (due && 1 - share > cost_) due_after_ = update + 1;
}

bool Schedule::evaluation_due() const {
  const std::int64_t step = progress_.step, given = config_.eval.eval_interval;
  if (step == 0) return true;
  if (given > 0) return step % given == 0;
  if (by_clock()) return step == due_after_;
  return steps_ > 0 && step * evaluations_of_run / steps_ > (step - 1) * evaluations_of_run / steps_;
}

}  // namespace chargpt
