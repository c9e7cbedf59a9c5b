// Several probabilities of one bit become one: p = squash(w · stretch(p_i)), with weights that learn from every bit.
// Which weights is chosen by contexts: of several sets each gives one vector, and their results are averaged, with
// weights of the decision. Source: Mahoney, "Adaptive weighing of context models for lossless data compression" (2005);
// gated linear networks, Veness et al. (2017).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace chargpt {

/// The logit, and back.
inline double stretch(double p) {
  return std::log(p / (1 - p));
}
inline double squash(double x) {
  return 1 / (1 + std::exp(-x));
}

class Mixer {
 public:
  static constexpr std::size_t sets = 5;
  using Chosen = std::array<std::int64_t, sets>;  ///< of each set, which vector
  struct Rates {
    double weights, averages;
  };
  struct Mixed {
    std::array<double, sets> logits;  ///< of each set
    double logit;
  };

  /// `sizes`: vectors in each set; all begin as `first` (inputs). The first set's contexts are the decisions.
  Mixer(const std::array<std::int64_t, sets>& sizes, std::span<const double> first, Rates rates);

  Mixed mix(std::span<const double> inputs, const Chosen& chosen) const;
  /// Of what mix() gave for the same inputs: each vector learns from its own error, the averages from that of all.
  void learn(std::span<const double> inputs, const Chosen& chosen, const Mixed& mixed, bool bit);
  /// All vectors as at first, with other weights.
  void begin_anew(std::span<const double> first);

 private:
  std::size_t inputs_;
  std::array<std::vector<double>, sets> weights_;   ///< (vectors, inputs)
  std::vector<std::array<double, sets>> averages_;  ///< by decision
  Rates rates_;
};

}  // namespace chargpt
