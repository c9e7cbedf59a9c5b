#include "learner/shared_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chargpt {
namespace {

void sum(Communicator& ranks, torch::Tensor& gradients) {
  torch::Tensor here = gradients.cpu();
  ranks.sum({here.mutable_data_ptr<float>(), static_cast<std::size_t>(here.numel())});
  if (!gradients.is_cpu()) gradients.copy_(here);
}

}  // namespace

WindowShare share_of(const Communicator& ranks, std::int64_t batch_size) {
  if (ranks.alone()) return {};
  return {.first = part_of(batch_size, ranks.ranks(), ranks.rank()).begin, .all = batch_size};
}

Gradients summed(Communicator& ranks, ParameterArena& arena, const Gradients& part) {
  const torch::NoGradGuard no_grad;
  for (ParameterGroup& group : arena.groups()) sum(ranks, group.gradients);
  const std::vector<double> losses = gathered(ranks, part.loss);
  Gradients whole{.loss = std::accumulate(losses.begin(), losses.end(), 0.0),
                  .norm = arena.gradient_norm().item<double>()};
  whole.finite = std::isfinite(whole.loss) && std::isfinite(whole.norm);
  return whole;
}

void SharedScorer::score(const WindowBatch& windows, std::span<float> losses) {
  if (ranks_.alone()) return own_.score(windows, losses);
  const Part part = part_of(windows.B(), ranks_.ranks(), ranks_.rank());
  std::vector<float> own(static_cast<std::size_t>(part.size * windows.T));
  if (part.size > 0) own_.score(windows.part(part.begin, part.size), own);
  std::ranges::copy(gathered<float>(ranks_, own), losses.begin());
}

}  // namespace chargpt
