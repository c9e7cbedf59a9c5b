// Is the difference in loss of two configs real, on the same text and seeds? Pure functions, independent of models.
//
// The loss of a trained model varies with its training seed. The means of K seeds on one text are K independent
// numbers: Student's t with K - 1 degrees of freedom. One seed does not show how seeds vary, so it gives no interval.
// The result holds only for this text; score other texts separately.
//
// With m configs, any of m (m - 1) / 2 pairs may be compared, and the best config is chosen by the same losses. So the
// 5 % level is divided by the number of pairs (Bonferroni). Each pair has its own variance, because configs may vary
// differently.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace chargpt {

struct Interval {
  double low = 0, high = 0;
};

/// A mean over seeds, in nats per token. With one seed or a loss that is not finite, deviation, ci95 and p are not set.
struct MeanEstimate {
  double mean = 0;
  std::optional<double> deviation = {};  ///< standard deviation of the seeds' means
  std::optional<Interval> ci95 = {};     ///< for the mean over other seeds on this text
  std::optional<double> p = {};          ///< two-sided, for the hypothesis that this mean is 0
};

/// means[k]: mean loss, or difference of two, of seed k. `comparisons`: number of pairs of configs that interval and p
/// are corrected for. Throws Error internal if empty.
MeanEstimate mean_of_seeds(std::span<const double> means, std::int64_t comparisons = 1);

/// Mean of a - b over seeds: negative if `a` is better. a[k] and b[k] are mean losses of the same seed on the same
/// tokens; block sizes may differ. Throws Error internal if `a` is empty or sizes differ.
MeanEstimate paired_difference(std::span<const double> a, std::span<const double> b, std::int64_t comparisons = 1);

// Repeated looks with more seeds. Each look spends a part of the 5 % of false positives: 4 %, then 0.5, 0.25, … Source:
// alpha spending, Lan & DeMets (1983), Biometrika 70; the parts add up to 5 %, which limits the total rate for any
// dependence between looks.

inline constexpr double first_look_level = 0.04;
/// The largest p that is significant at look `number` (from 1; 0 counts as the first).
double level_of_look(std::int64_t number);

/// Total number of seeds for which a difference with this mean and deviation would have p <= `level` with this number
/// of comparisons. Returns nullopt above 1,000 seeds, below 5 given `seeds`, or without a deviation.
std::optional<std::int64_t> seeds_to_decide(const MeanEstimate& difference, std::int64_t seeds, double level,
                                            std::int64_t comparisons);

// Student's t distribution, which the functions above use.

/// P(|T| >= |t|) of Student's t with `df` > 0 degrees of freedom (need not be whole). Exact to about 1e-12.
double student_p(double t, double df);

/// The t with P(|T| >= t) = `p`, 0 < p < 1: student_critical(0.05, 10) = 2.228.
double student_critical(double p, double df);

}  // namespace chargpt
