// Two configs, the same text, the same seeds: is their difference in loss real? Pure functions; knows no model.
//
// The loss of a trained model varies with the seed it was trained with and with the text it is scored on, and both are
// samples. So there are two answers. On this very text, the means of the seeds are as many independent figures:
// Student's t with K - 1 degrees of freedom, narrow where there are seeds enough. On more text of this kind, the text
// counts too, by the slow waves of the losses averaged over the seeds (interval.h): half the width is the root of the
// two squares, which holds the truth at least as often as it says however the two compare (Banerjee 1960, Sankhya 22).
// It is wide, and no number of seeds makes it less than the text's own part. With one seed the first cannot be said,
// and the second speaks of these weights only.
//
// Of m configs, all m (m - 1) / 2 pairs may be looked at, the best chosen from the same losses among them: each pair is
// then held to a 95 % that is divided by their number (Bonferroni), each with its own variance, since configs need not
// vary alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/interval.h"

namespace chargpt {

/// A claim about a mean, and the two-sided p of its being 0; absent where it cannot be said.
struct Claim {
  Confidence ci95 = {};
  std::optional<double> p = {};
};

/// A mean over seeds, in nats per token.
struct MeanEstimate {
  double mean = 0;
  Claim more_text;                       ///< other seeds, more text of this kind
  Claim this_text;                       ///< other seeds, this very text
  std::optional<double> deviation = {};  ///< standard deviation of the seeds' means; absent with one seed
  bool weights_only = false;             ///< one seed: `more_text` says nothing of other seeds
};

/// losses[k]: per-token losses of seed k over the same text, all of one length. `comparisons`: pairs of configs that
/// the claims are to hold for together. Error internal for none, or unequal lengths.
MeanEstimate mean_over_seeds(std::span<const std::vector<float>> losses, std::int64_t comparisons = 1);

/// Mean of a - b, seed by seed and part by part: negative where `a` is better. a[k] and b[k] have seed k in common and
/// score the same tokens in the same order, whatever their block sizes. Errors as above.
MeanEstimate paired_difference(std::span<const std::vector<float>> a, std::span<const std::vector<float>> b,
                               std::int64_t comparisons = 1);

/// Seeds, and the spread of what they are to tell.
struct SeedsDesign {
  std::int64_t seeds = 2;
  double deviation = 0;  ///< standard deviation over seeds of the paired difference
  std::int64_t comparisons = 1;
};
/// The difference that 80 % of such comparisons would show on this text; absent for fewer than 2 seeds.
std::optional<double> shown_difference(const SeedsDesign& design);
/// The fewest seeds with which 80 % of comparisons would show `difference` on this text; absent where 1,000 do not.
std::optional<std::int64_t> seeds_to_show(double difference, double deviation, std::int64_t comparisons);

}  // namespace chargpt
