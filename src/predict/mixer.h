// Mixes several probabilities of one bit into one: p = squash(w · stretch(p_i)), with weights that learn from every
// bit. Contexts select the weight vectors: one from each of several sets. The results of the sets are averaged, with
// weights selected by the decision. Sources: Mahoney, "Adaptive weighing of context models for lossless data
// compression" (2005); gated linear networks, Veness et al. (2017).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace chargpt {

/// The logit of a probability, and its inverse.
inline double stretch(double p) {
  return std::log(p / (1 - p));
}
inline double squash(double x) {
  return 1 / (1 + std::exp(-x));
}

class Mixer {
 public:
  static constexpr std::size_t sets = 10, vectors = 4096;  ///< vectors of each set
  using Chosen = std::array<std::size_t, sets>;            ///< index of the vector in each set
  /// Two averages of the sets, each with weights of its own: selected as the vectors of these sets are.
  static constexpr std::array<std::size_t, 2> averaged_by = {0, 1};
  struct Rates {
    double weights, averages;
  };
  struct Mixed {
    std::array<double, sets> logits;                    ///< one per set
    std::array<double, averaged_by.size()> averages{};  ///< of the sets
    double logit = 0;                                   ///< the mean of the averages
  };

  /// `first` (inputs): the initial value of all vectors.
  Mixer(std::span<const double> first, Rates rates);

  Mixed mix(std::span<const double> inputs, const Chosen& chosen) const;
  /// Learns the bit after mix() of the same inputs: each vector and each average from its own error.
  void learn(std::span<const double> inputs, const Chosen& chosen, const Mixed& mixed, bool bit);

 private:
  std::array<std::vector<double>, sets> weights_;  ///< (vectors, inputs)
  std::array<std::vector<std::array<double, sets>>, averaged_by.size()> averages_;
  Rates rates_;
};

/// Corrects a probability by the past outcomes of similar probabilities in the same context: for each context a curve
/// over logits, linear between its points, which move towards the bits. Source: secondary symbol estimation, adaptive
/// probability maps of PAQ, Mahoney (2005).
class ProbabilityMap {
 public:
  struct Point {
    std::size_t below;  ///< index of the point below, and the fraction of the way to the next point
    double part;
  };

  explicit ProbabilityMap(std::int64_t contexts) : values_(static_cast<std::size_t>(contexts) * points) {
    for (std::size_t i = 0; i < points && contexts > 0; ++i)
      values_[i] = static_cast<float>(squash((static_cast<double>(i) - middle) / per_unit));
    for (std::size_t i = points; i < values_.size(); ++i) values_[i] = values_[i - points];  // equal for all contexts
  }

  /// Prefetches the curve of this context for point().
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
  void learn(const Point& point, bool bit) {
    move(values_[point.below], 1 - point.part, bit);
    move(values_[point.below + 1], point.part, bit);
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
