#include "predict/mixer.h"

#include <algorithm>

namespace chargpt {
namespace {

constexpr double most = 15;  // limit of logits: certain enough, and squash() stays between 0 and 1

double dot(const double* weights, std::span<const double> inputs) {
  double even = 0, odd = 0;
  std::size_t i = 0;
  for (; i + 1 < inputs.size(); i += 2) {
    even += weights[i] * inputs[i];
    odd += weights[i + 1] * inputs[i + 1];
  }
  if (i < inputs.size()) even += weights[i] * inputs[i];
  return std::clamp(even + odd, -most, most);
}

}  // namespace

Mixer::Mixer(const std::array<std::int64_t, sets>& sizes, std::span<const double> first, Rates rates)
    : inputs_(first.size()), averages_(static_cast<std::size_t>(sizes[0])), rates_(rates) {
  for (std::size_t set = 0; set < sets; ++set) weights_[set].resize(static_cast<std::size_t>(sizes[set]) * inputs_);
  begin_anew(first);
}

void Mixer::begin_anew(std::span<const double> first) {
  for (std::vector<double>& weights : weights_)
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = first[i % inputs_];
  for (auto& averages : averages_) averages.fill(1.0 / sets);
}

Mixer::Mixed Mixer::mix(std::span<const double> inputs, const Chosen& chosen) const {
  const std::array<double, sets>& averages = averages_[static_cast<std::size_t>(chosen[0])];
  Mixed mixed{};
  for (std::size_t set = 0; set < sets; ++set) {
    mixed.logits[set] = dot(&weights_[set][static_cast<std::size_t>(chosen[set]) * inputs_], inputs);
    mixed.logit += averages[set] * mixed.logits[set];
  }
  mixed.logit = std::clamp(mixed.logit, -most, most);
  return mixed;
}

void Mixer::learn(std::span<const double> inputs, const Chosen& chosen, const Mixed& mixed, bool bit) {
  std::array<double, sets>& averages = averages_[static_cast<std::size_t>(chosen[0])];
  const double error = (bit - squash(mixed.logit)) * rates_.averages;
  for (std::size_t set = 0; set < sets; ++set) {
    const double own_error = (bit - squash(mixed.logits[set])) * rates_.weights;
    double* const weights = &weights_[set][static_cast<std::size_t>(chosen[set]) * inputs_];
    for (std::size_t i = 0; i < inputs.size(); ++i) weights[i] += own_error * inputs[i];
    averages[set] += error * mixed.logits[set];
  }
}

}  // namespace chargpt
