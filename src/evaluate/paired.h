// Two configs, the same text, the same seeds: is their difference in loss real? Pure functions; knows no model.
//
// The loss of a trained model varies with the text it is scored on and with the seed it was trained with, and both are
// samples. Block b of the text under seed k is taken as  d(k, b) = mean + s(k) + t(b) + e(k, b),  all random but the
// mean. The spread of the seeds' means gives V_seeds, with K - 1 degrees of freedom; the spread of the blocks' means
// gives V_text, with B - 1. Half the width of the interval is  sqrt(t(K-1)^2 V_seeds + t(B-1)^2 V_text),  t being
// Student's: it holds the truth at least as often as it says however the two compare, so few seeds give a wide interval
// instead of a confident one. (V_seeds and V_text both contain the share of e; counting it twice errs to the safe
// side.) With one seed only V_text is known: the figure then speaks of these weights only. Sources: Banerjee 1960,
// Sankhya 22 (intervals from several variances); blocks as in interval.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/interval.h"

namespace chargpt {

/// A mean over seeds and text, in nats per token. NaN where there is nothing to tell it from (one block, losses not
/// finite).
struct MeanEstimate {
  double mean = 0;
  Interval ci95;
  double p = 1;               ///< two-sided, of a true mean of 0
  double resolvable = 0;      ///< half the interval's width: a mean nearer to 0 could not have been told from 0
  bool weights_only = false;  ///< one seed: says nothing of other seeds
};

/// losses[k]: per-token losses of seed k over the same text, all of one length. Error internal for none, or unequal
/// lengths.
MeanEstimate mean_over_seeds(std::span<const std::vector<float>> losses, std::int64_t block = 1024);

/// Mean of a - b, seed by seed and block by block: negative where `a` is better. a[k] and b[k] have seed k in common
/// and score the same tokens in the same order, whatever their block sizes. Errors as above.
MeanEstimate paired_difference(std::span<const std::vector<float>> a, std::span<const std::vector<float>> b,
                               std::int64_t block = 1024);

}  // namespace chargpt
