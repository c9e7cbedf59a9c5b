#include "train/divergence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "base/names.h"
#include "base/quote.h"

namespace chargpt {
namespace {

/// Sums in float64: in float32, the squares of a large finite gradient would overflow to infinity.
double norm_of(std::span<const float> gradient) {
  double squares = 0;
  for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
  return std::abs(std::sqrt(squares));  // removes the sign of a NaN
}

using GradientNorm = std::pair<double, std::string>;  ///< norm and name of a parameter's gradient

}  // namespace

std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena) {
  constexpr std::size_t most_windows = 16, most_norms = 4;
  std::vector<std::string> starts, norms;
  for (const std::int64_t start : window_starts) starts.push_back(std::to_string(start));
  std::vector<GradientNorm> worst;
  for (const Parameter& parameter : arena.parameters())
    worst.emplace_back(norm_of(parameter.in(arena.gradients.data())), parameter.name);
  std::ranges::stable_sort(worst, std::greater(), [](const GradientNorm& one) {
    return std::pair(std::isnan(one.first), one.first);  // NaN first
  });
  for (const auto& [norm, name] : worst) norms.push_back(line_of(name, " ", norm));
  const std::string all = starts.size() > most_windows ? line_of(", … (", starts.size(), " in all)") : "";
  starts.resize(std::min(starts.size(), most_windows));
  norms.resize(std::min(norms.size(), most_norms));
  return line_of("its windows start at ", joined(starts, ", "), all,
                 " of the train split; largest gradient norms: ", joined(norms, ", "));
}

}  // namespace chargpt
