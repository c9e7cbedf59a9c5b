#include "model/storage.h"

#include <torch/types.h>

namespace chargpt {

void round_matrices(LanguageModel& model, Storage storage) {
  if (storage == Storage::float32) return;
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model.parameters())
    if (parameter.dim() >= 2) parameter.copy_(parameter.to(torch::kBFloat16));
}

}  // namespace chargpt
