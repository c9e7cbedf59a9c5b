// Two configs, the same text, the same seeds: is their difference in loss real? Pure functions; knows no model.
//
// The loss of a trained model varies with the seed it was trained with. The means of K seeds on one text are K
// independent figures: Student's t with K - 1 degrees of freedom. One seed does not tell how seeds differ, so there is
// no interval. All of it is about this text; other texts have to be scored themselves. How far the difference holds
// along this one, its tenths show.
//
// Of m configs, all m (m - 1) / 2 pairs may be looked at, the best chosen from the same losses among them: each pair is
// then held to a 95 % that is divided by their number (Bonferroni), each with its own variance, since configs need not
// vary alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/token_view.h"

namespace chargpt {

struct Interval {
  double low = 0, high = 0;
};

/// A mean over seeds, in nats per token. With one seed, or with a loss that is not finite, no deviation, interval or p.
struct MeanEstimate {
  double mean = 0;
  std::optional<double> deviation = {};  ///< standard deviation of the seeds' means
  std::optional<Interval> ci95 = {};     ///< of the mean over other seeds on this text
  std::optional<double> p = {};          ///< two-sided, of that mean being 0
  std::vector<double> tenths = {};       ///< of the text, in order (tenths_of in split_loss.h)
};

/// means[k]: a mean loss, or a difference of two, of seed k. `comparisons`: as below. Error internal for none.
MeanEstimate mean_of_seeds(std::span<const double> means, std::int64_t comparisons = 1);

/// losses[k]: per-token losses of seed k over the same text, all of one length. `comparisons`: pairs of configs that
/// the interval and p are to hold for together. Error internal for none, or unequal lengths.
MeanEstimate mean_over_seeds(std::span<const std::vector<float>> losses, std::int64_t comparisons = 1);

/// Mean of a - b, seed by seed: negative where `a` is better. a[k] and b[k] have seed k in common and score the same
/// tokens in the same order, whatever their block sizes. `text`: what they are the losses of, from its second token on,
/// so that tenths hold whole documents. Errors as above.
MeanEstimate paired_difference(std::span<const std::vector<float>> a, std::span<const std::vector<float>> b,
                               std::int64_t comparisons = 1, const TokenView& text = {});

// Looking again with more seeds. Each look spends a part of the 5 % of false positives: 4 %, then 0.5, 0.25, …
// Source: alpha spending, Lan & DeMets (1983), Biometrika 70; the parts add up to 5 %, which bounds the rate for any
// dependence between looks.

inline constexpr double first_look_level = 0.04;
/// The p that look `number` (from 1; 0: the first one as far as is known) may have at most to count.
double level_of_look(std::int64_t number);

/// Seeds in all with which a difference like this one would reach p = `level` for so many comparisons, if its mean and
/// deviation stayed as they are; nullopt above 1,000, below 5 seeds, or without a deviation.
std::optional<std::int64_t> seeds_to_decide(const MeanEstimate& difference, std::int64_t seeds, double level,
                                            std::int64_t comparisons);

// What these are made of.

/// P(|T| >= |t|) of Student's t with `df` > 0 degrees of freedom (need not be whole). Exact to about 1e-12.
double student_p(double t, double df);

/// The t that |T| reaches with probability `p`, 0 < p < 1: student_critical(0.05, 10) = 2.228.
double student_critical(double p, double df);

}  // namespace chargpt
