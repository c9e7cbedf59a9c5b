// What the losses along one text say of the mean loss on more text of its kind, or that they cannot say it. Pure
// functions; knows no model. Method, sources and measured coverage: README.md beside this file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chargpt {

struct Interval {
  double low = 0, high = 0;
};

/// A 95 % interval, or why there is none.
struct Confidence {
  std::optional<Interval> interval = {};
  std::string reason = {};  ///< completes "cannot say: …"; empty where there is an interval
};

/// `mean` ± `half_width`.
Confidence around(double mean, double half_width);
Confidence cannot_say(std::string reason);

/// Losses of a text in at most 4,096 parts of equal length, give or take one: all that MeanSpread looks at, and short
/// enough that a text of any length costs one pass.
std::vector<double> part_means(std::span<const float> losses);

/// How far the mean of a text's losses may lie from the mean over more text of its kind: a mixture of Student's t
/// distributions, one for each memory that the text may have, plain or under noise, weighted by how well it explains
/// the text's slow waves.
class MeanSpread {
 public:
  /// `characters`: how many losses the parts stand for.
  MeanSpread(std::span<const double> parts, std::size_t characters);
  /// Why there is no spread; empty where there is one.
  const std::string& reason() const { return reason_; }
  /// P(|mean of the text - mean of its kind| >= distance); needs a spread.
  double p(double distance) const;
  /// The distance whose p is `p`, 0 < p < 1.
  double half_width(double p) const;

 private:
  struct Memory {
    double weight, scale;
  };
  std::vector<Memory> memories_ = {};
  std::string reason_ = {};
};

/// 95 % interval of the mean loss over more text of the kind that `losses` are of, of these weights.
Confidence mean_interval(std::span<const float> losses);

}  // namespace chargpt
