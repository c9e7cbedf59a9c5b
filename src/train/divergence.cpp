#include "train/divergence.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "report/format.h"

namespace chargpt {
namespace {

/// Sums in float64: in float32, the squares of a large finite gradient would overflow to infinity.
double norm_of(std::span<const float> gradient) {
  double squares = 0;
  for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
  return std::abs(std::sqrt(squares));  // removes the sign of a NaN
}

using GradientNorm = std::pair<double, std::string>;  ///< norm and name of a parameter's gradient

bool is_worse(const GradientNorm& a, const GradientNorm& b) {
  if (std::isnan(a.first) != std::isnan(b.first)) return std::isnan(a.first);
  return a.first > b.first;
}

}  // namespace

DivergenceCheck::DivergenceCheck(Learner& learner, const RunProgress& progress, const Saver& saver)
    : learner_(learner), progress_(progress), saver_(saver) {}

/// Losses and norms are positive, except for the sign of a NaN, which means nothing.
void DivergenceCheck::check_step(const Gradients& gradients) const {
  if (gradients.finite()) return;
  learner_.engine->give_gradients();
  diverged(line_of("step ", progress_.step + 1, " has loss ", std::abs(gradients.loss), " and gradient norm ",
                   std::abs(gradients.norm), " (", diagnosis(learner_.batches.starts(progress_.step), learner_.arena),
                   ")"));
}

void DivergenceCheck::check_loss(double val_loss) const {
  if (!std::isfinite(val_loss))
    diverged(line_of("the validation loss after ", format_count(progress_.step, "step"), " is ", std::abs(val_loss)));
}

void DivergenceCheck::check_weights() const {
  if (!learner_.current().is_finite())
    diverged(line_of("after ", format_count(progress_.step, "step"), " some weights are not finite"));
}

void DivergenceCheck::diverged(const std::string& what) const {
  const std::filesystem::path last = saver_.last_checkpoint();
  const std::string kept =
      last.empty() ? "no checkpoint had been saved yet" : "the last good checkpoint is " + last.string();
  const std::string clip = learner_.config.grad_clip > 0 ? "" : ", or set train.grad_clip = 1";
  throw Error(ExitCode::diverged, "training diverged; lower train.learning_rate = ", learner_.config.learning_rate,
              clip, ": ", what, "; ", kept);
}

std::string diagnosis(const std::vector<std::int64_t>& window_starts, const ParameterArena& arena) {
  constexpr std::size_t most_windows = 16, most_norms = 4;
  std::vector<std::string> starts, norms;
  for (const std::int64_t start : window_starts) starts.push_back(std::to_string(start));
  std::vector<GradientNorm> worst;
  for (const Parameter& parameter : arena.parameters())
    worst.emplace_back(norm_of(parameter.in(arena.gradients.data())), parameter.name);
  std::ranges::stable_sort(worst, is_worse);
  for (const auto& [norm, name] : worst) norms.push_back(line_of(name, " ", norm));
  const std::string all = starts.size() > most_windows ? line_of(", … (", starts.size(), " in all)") : "";
  starts.resize(std::min(starts.size(), most_windows));
  norms.resize(std::min(norms.size(), most_norms));
  return line_of("its windows start at ", joined(starts, ", "), all,
                 " of the train split; largest gradient norms: ", joined(norms, ", "));
}

}  // namespace chargpt
