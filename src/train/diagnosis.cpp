#include "train/diagnosis.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace chargpt {
namespace {

constexpr std::size_t most_windows = 16, most_norms = 4;

bool is_worse(const GradientNorm& a, const GradientNorm& b) {
  if (std::isnan(a.norm) != std::isnan(b.norm)) return std::isnan(a.norm);
  return a.norm > b.norm;
}

/// In float64: the sum of squares of a finite gradient must not look infinite here.
double norm_of(const torch::Tensor& gradient) {
  return std::abs(gradient.to(torch::kFloat64).norm().item<double>());  // a NaN without its sign
}

}  // namespace

std::vector<GradientNorm> gradient_norms(const ParameterArena& arena) {
  const torch::NoGradGuard no_grad;
  std::vector<GradientNorm> norms;
  for (const ParameterGroup& group : arena.groups())
    for (const ParameterSlot& slot : group.slots)
      norms.push_back({slot.name, norm_of(group.gradients.narrow(0, slot.offset, slot.numel))});
  std::stable_sort(norms.begin(), norms.end(), is_worse);
  return norms;
}

std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena) {
  std::ostringstream line;
  line << "its windows start at ";
  for (std::size_t i = 0; i < std::min(window_starts.size(), most_windows); ++i)
    line << (i == 0 ? "" : ", ") << window_starts[i];
  if (window_starts.size() > most_windows) line << ", … (" << window_starts.size() << " in all)";
  line << " of the train split; largest gradient norms: ";
  const std::vector<GradientNorm> norms = gradient_norms(arena);
  for (std::size_t i = 0; i < std::min(norms.size(), most_norms); ++i)
    line << (i == 0 ? "" : ", ") << norms[i].name << " " << norms[i].norm;
  return line.str();
}

}  // namespace chargpt
