// Learning rate as a pure function of the step. Knows no optimizer and no model.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace chargpt {

/// Rate of step `step` (0-based): warm-up (step+1)/(warmup_iters+1) of the peak, then train.lr_schedule down to
/// min_lr at lr_decay_iters (0: max_iters), then min_lr. Cosine: SGDR (Loshchilov & Hutter 2017), same figures as
/// nanoGPT; wsd: Hu et al. 2024.
double learning_rate_at(const TrainConfig& train, std::int64_t step);

/// The same as a part of the peak: what each group's own peak is multiplied by. If train.learning_rate is 0, so that
/// parameters without a rate of their own stand still, groups with one follow the shape from 1 to 0.
double learning_rate_factor(const TrainConfig& train, std::int64_t step);

}  // namespace chargpt
