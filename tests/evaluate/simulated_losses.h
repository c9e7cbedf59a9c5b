// Losses along simulated texts whose true mean is known: what the coverage of intervals is measured on. Knows no
// interval.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chargpt {

using Losses = std::vector<float>;

/// Random numbers of one simulated text: cheap, since a table of coverage needs 10^10 of them.
class Draw {
 public:
  explicit Draw(std::uint64_t seed);
  /// In [0, 1), 53 bits of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
  double uniform();
  /// Polar method (Marsaglia and Bray 1964).
  double normal();
  /// Mean 0, variance 1, skewed as the losses of characters are: many small, few large.
  double exponential();
  /// Above 1, with P(> x) = x^-tail.
  double pareto(double tail);

 private:
  std::uint64_t state_;
  double kept_ = 0;
  bool has_kept_ = false;
};

/// What a text adds to the losses of its characters.
struct SimulatedText {
  std::vector<double> level;        ///< (n); mean 0 over all texts of its kind
  std::vector<double> spread = {};  ///< (n), of the characters' own losses; empty: 1
};

/// A kind of text, by name.
struct Kind {
  std::string name;
  std::function<SimulatedText(Draw&, std::size_t n)> text;
  double (*own)(Draw&) = [](Draw& draw) { return draw.exponential(); };  ///< a character's own loss, mean 0
};

/// The mean of every simulated loss over all texts of its kind.
constexpr double true_mean = 3;

/// The kinds on which the prior weights of src/evaluate/interval.cpp were chosen.
std::vector<Kind> tuned_kinds();
/// Kinds on which nothing was chosen: written down before any of them was tried.
std::vector<Kind> untouched_kinds();
/// Kinds that are beyond what the intervals promise.
std::vector<Kind> kinds_beyond();
/// One of them, by its name.
Kind kind_named(const std::string& name);

Losses losses_of(const Kind& kind, const SimulatedText& text, Draw& draw);

/// Trainings of one config, scored on one text: the text is theirs in common; a level, and each character's own loss,
/// are not.
struct Trainings {
  std::vector<Losses> losses = {};  ///< (K)
  std::vector<double> levels = {};  ///< (K); mean 0 over all trainings
};
/// `deviation`: standard deviation of the levels.
Trainings trainings(const Kind& kind, const SimulatedText& text, Draw& draw, int seeds, double deviation);

}  // namespace chargpt
