// Corrects a probability by what came of such probabilities in the same context: for each context a curve over logits,
// linear between its points, which move towards the bits. Source: secondary symbol estimation, adaptive probability
// maps of PAQ, Mahoney (2005).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "predict/mixer.h"
#include "predict/undo.h"

namespace chargpt {

class ProbabilityMap {
 public:
  struct Point {
    std::size_t below;  ///< the point below it, and how far it is on the way to the next
    double part;
  };

  explicit ProbabilityMap(std::int64_t contexts) : values_(static_cast<std::size_t>(contexts) * points) {
    for (std::size_t i = 0; i < points && contexts > 0; ++i)
      values_[i] = static_cast<float>(squash((static_cast<double>(i) - middle) / per_unit));
    for (std::size_t i = points; i < values_.size(); ++i) values_[i] = values_[i - points];  // all contexts alike
  }

  /// point() of this context will be asked.
  void fetch(std::int64_t context) const {
    const float* const first = &values_[static_cast<std::size_t>(context) * points];
    for (std::size_t i = 0; i < points; i += 16) __builtin_prefetch(first + i);
  }
  Point point(std::int64_t context, double logit) const {
    const double place = std::clamp(logit, -reach, reach) * per_unit + middle;
    const auto below = std::min(static_cast<std::size_t>(place), points - 2);
    return {static_cast<std::size_t>(context) * points + below, place - static_cast<double>(below)};
  }
  double at(const Point& point) const {
    return values_[point.below] * (1 - point.part) + values_[point.below + 1] * point.part;
  }
  void learn(const Point& point, bool bit, Undo& undo) {
    move(undo.changing(values_[point.below]), 1 - point.part, bit);
    move(undo.changing(values_[point.below + 1]), point.part, bit);
  }

 private:
  static constexpr std::size_t points = 33;
  static constexpr double middle = 16, per_unit = 2, reach = 8, rate = 0.02;
  static void move(float& value, double part, bool bit) {
    value = static_cast<float>(value + (bit - value) * rate * part);
  }
  std::vector<float> values_;  ///< (contexts, points)
};

}  // namespace chargpt
