#include "learner/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace chargpt {
namespace {

/// How much of the way from the peak to min_lr is done at `part` (0 to 1) of the decay.
double decayed(LrSchedule schedule, double part) {
  switch (schedule) {
    case LrSchedule::cosine:
      return 0.5 * (1 - std::cos(std::numbers::pi * part));
    case LrSchedule::linear:
      return part;
    case LrSchedule::constant:
      return 0;
    case LrSchedule::wsd:
      return part;
  }
  return part;
}

/// The step at which the decay begins.
double decay_begin(const TrainConfig& train, double end) {
  const auto warmed_up = static_cast<double>(train.warmup_iters);
  return train.lr_schedule == LrSchedule::wsd ? std::max(warmed_up, end * (1 - train.wsd_decay_fraction)) : warmed_up;
}

}  // namespace

double learning_rate_at(const TrainConfig& train, std::int64_t step) {
  const auto now = static_cast<double>(step);
  if (step < train.warmup_iters) return train.learning_rate * (now + 1) / (static_cast<double>(train.warmup_iters) + 1);
  if (train.lr_schedule == LrSchedule::constant) return train.learning_rate;
  const auto end = static_cast<double>(train.lr_decay_iters > 0 ? train.lr_decay_iters : train.max_iters);
  if (now >= end) return train.min_lr;
  const double begin = decay_begin(train, end);
  const double part = now <= begin ? 0 : (now - begin) / (end - begin);
  return train.learning_rate + (train.min_lr - train.learning_rate) * decayed(train.lr_schedule, part);
}

double learning_rate_factor(const TrainConfig& train, std::int64_t step) {
  if (train.learning_rate > 0) return learning_rate_at(train, step) / train.learning_rate;
  TrainConfig unit = train;
  unit.learning_rate = 1;
  unit.min_lr = 0;
  return learning_rate_at(unit, step);
}

}  // namespace chargpt
