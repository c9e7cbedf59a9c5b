#include "learner/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace chargpt {
namespace {

/// The part of the decay that is done at `step`: from each FROM on, the rest of it is spread evenly up to LAST.
double part_of_revised(const Integers& decay, std::int64_t step) {
  double part = 0;
  for (std::size_t i = 0; i + 1 < decay.size() && decay[i] < step; i += 2) {
    const std::int64_t from = decay[i], last = decay[i + 1];
    const std::int64_t now = i + 2 < decay.size() ? std::min(step, decay[i + 2]) : step;
    if (now >= last) part = 1;
    if (now < last) part += (1 - part) * static_cast<double>(now - from) / static_cast<double>(last - from);
  }
  return part;
}

double part_of_decay(const TrainConfig& train, std::int64_t step) {
  if (!train.decay_steps.empty()) return part_of_revised(train.decay_steps, step);
  const auto now = static_cast<double>(step);
  const auto end = static_cast<double>(train.lr_decay_iters > 0 ? train.lr_decay_iters : train.max_iters);
  if (now >= end) return 1;
  auto begin = static_cast<double>(train.warmup_iters);
  if (train.lr_schedule == LrSchedule::wsd) begin = std::max(begin, end * (1 - train.wsd_decay_fraction));
  return now <= begin ? 0 : (now - begin) / (end - begin);
}

}  // namespace

double learning_rate_at(const TrainConfig& train, std::int64_t step) {
  const double peak = train.learning_rate;
  if (step < train.warmup_iters)
    return peak * (static_cast<double>(step) + 1) / (static_cast<double>(train.warmup_iters) + 1);
  if (train.lr_schedule == LrSchedule::constant) return peak;
  const double part = part_of_decay(train, step);
  if (part == 1) return train.min_lr;
  const bool cosine = train.lr_schedule == LrSchedule::cosine;
  const double fallen = cosine ? 0.5 * (1 - std::cos(std::numbers::pi * part)) : part;
  return peak + (train.min_lr - peak) * fallen;
}

double learning_rate_factor(const TrainConfig& train, std::int64_t step) {
  if (train.learning_rate > 0) return learning_rate_at(train, step) / train.learning_rate;
  TrainConfig unit = train;
  unit.learning_rate = 1;
  unit.min_lr = 0;
  return learning_rate_at(unit, step);
}

}  // namespace chargpt
