#include "engine/module_loss.h"

namespace chargpt {

torch::Device device_of(const ParameterArena& arena) {
  return arena.groups().empty() ? torch::Device(torch::kCPU) : arena.groups().front().values.device();
}

torch::Tensor cross_entropy(LanguageModel& model, const torch::Tensor& inputs, const torch::Tensor& targets,
                            const ForwardContext& context, at::Reduction::Reduction reduction) {
  const torch::Tensor logits = model.forward(inputs, context).to(torch::kFloat32);  // (B, T) -> (B, T, V)
  return at::cross_entropy_loss(logits.view({-1, logits.size(-1)}), targets.reshape({-1}), {}, reduction);
}

Gradients read_gradients(const torch::Tensor& loss, const torch::Tensor& norm) {
  const torch::Tensor figures = at::stack({loss, norm}).cpu();
  return {.loss = figures[0].item<double>(),
          .norm = figures[1].item<double>(),
          .finite = figures.isfinite().all().item<bool>()};
}

}  // namespace chargpt
