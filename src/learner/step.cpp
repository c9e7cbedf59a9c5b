#include "learner/step.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/part.h"

namespace chargpt {

StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input, Communicator& ranks) {
  Gradients gradients = engine.gradients(input);
  if (!ranks.alone()) {
    engine.give_gradients();
    gradients = summed(ranks, arena, gradients);
    engine.take_gradients();
  }
  if (gradients.finite()) engine.update(update_context(train, gradients.norm, lr_factor));
  return {.loss = gradients.loss, .grad_norm = gradients.norm, .updated = gradients.finite()};
}

StepResult make_step(Engine& engine, ParameterArena& arena, const TrainConfig& train, double lr_factor,
                     const GradientInput& input) {
  OneProcess alone;
  return make_step(engine, arena, train, lr_factor, input, alone);
}

Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part) {
  for (const ParameterGroup& group : arena.groups()) ranks.sum(group.gradients.all());
  const std::vector<double> losses = gathered(ranks, part.loss);
  return {.loss = std::accumulate(losses.begin(), losses.end(), 0.0), .norm = arena.gradient_norm()};
}

void check_same(Communicator& ranks, std::uint64_t sum, const std::string& difference) {
  const std::vector<std::uint64_t> sums = gathered(ranks, sum);
  const auto other = std::ranges::find_if(sums, [&](std::uint64_t one) { return one != sums.front(); });
  if (other != sums.end()) throw Error(ExitCode::data, "rank ", other - sums.begin(), " ", difference);
}

void SharedScorer::score(const WindowBatch& windows, std::span<float> losses) {
  if (ranks_.alone()) return own_.score(windows, losses);
  const Part part = part_of(windows.B(), ranks_.ranks(), ranks_.rank());
  std::vector<float> own(static_cast<std::size_t>(part.size * windows.T));
  if (part.size > 0) own_.score(windows.part(part.begin, part.size), own);
  std::ranges::copy(gathered<float>(ranks_, own), losses.begin());
}

}  // namespace chargpt
