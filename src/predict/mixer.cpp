#include "predict/mixer.h"

#include <algorithm>

namespace chargpt {
namespace {

constexpr double most = 15;  // limit of logits: certain enough, and squash() stays between 0 and 1

/// Four sums, so that an addition need not wait for the one before it.
double dot(const double* weights, std::span<const double> inputs) {
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + 3 < inputs.size(); i += 4)
    for (std::size_t j = 0; j < 4; ++j) sums[j] += weights[i + j] * inputs[i + j];
  for (; i < inputs.size(); ++i) sums[0] += weights[i] * inputs[i];
  return std::clamp(sums[0] + sums[1] + sums[2] + sums[3], -most, most);
}

}  // namespace

Mixer::Mixer(std::span<const double> first, Rates rates) : rates_(rates) {
  for (std::vector<double>& weights : weights_)
    for (std::size_t vector = 0; vector < vectors; ++vector) weights.insert(weights.end(), first.begin(), first.end());
  std::array<double, sets> equal{};
  equal.fill(1.0 / sets);
  for (auto& averages : averages_) averages.assign(vectors, equal);
}

Mixer::Mixed Mixer::mix(std::span<const double> inputs, const Chosen& chosen) const {
  Mixed mixed{};
  for (std::size_t set = 0; set < sets; ++set)
    mixed.logits[set] = dot(&weights_[set][chosen[set] * inputs.size()], inputs);
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    mixed.averages[i] = dot(averages_[i][chosen[averaged_by[i]]].data(), mixed.logits);
    mixed.logit += mixed.averages[i] / static_cast<double>(averages_.size());
  }
  return mixed;
}

void Mixer::learn(std::span<const double> inputs, const Chosen& chosen, const Mixed& mixed, bool bit) {
  const auto move = [bit](double* weights, std::span<const double> by, double logit, double rate) {
    const double error = (bit - squash(logit)) * rate;
    for (std::size_t i = 0; i < by.size(); ++i) weights[i] += error * by[i];
  };
  for (std::size_t set = 0; set < sets; ++set)
    move(&weights_[set][chosen[set] * inputs.size()], inputs, mixed.logits[set], rates_.weights);
  for (std::size_t i = 0; i < averages_.size(); ++i)
    move(averages_[i][chosen[averaged_by[i]]].data(), mixed.logits, mixed.averages[i], rates_.averages);
}

}  // namespace chargpt
