// Mean and noise of the batches' losses, and what counts as a spike: pure functions. Knows no model and no policy.
#pragma once

#include "checkpoint/checkpoint.h"

namespace chargpt {

/// The trend after one more loss: mean and variance over all losses so far, or, after the first 50, exponentially
/// weighted with 1/50 (Welford's update in the form of Finch, 2009, "Incremental calculation of weighted mean and
/// variance"). Losses that are not finite change nothing.
LossTrend followed_by(const LossTrend& trend, double loss);

/// The loss from which a step is a spike: 1 nat and 6 standard deviations above the mean; infinity before 20 losses.
double spike_threshold(const LossTrend& trend);

}  // namespace chargpt
