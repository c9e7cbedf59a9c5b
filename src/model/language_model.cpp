#include "model/language_model.h"

#include <c10/util/Exception.h>

namespace chargpt {

std::int64_t LanguageModel::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

void LanguageModel::check_input(const torch::Tensor& ids, const ForwardContext& context) const {
  TORCH_CHECK(ids.dim() == 2, "ids must be (B, T), not of ", ids.dim(), " dimensions");
  TORCH_CHECK(ids.scalar_type() == torch::kLong, "ids must be int64, not ", ids.scalar_type());
  TORCH_CHECK(ids.size(1) >= 1, "T = 0: a model needs at least one token");
  if (context.window != 0) {
    TORCH_CHECK(can_slide(config_), "a sliding window needs model.position = rope or none");
    TORCH_CHECK(context.window >= 1 && context.window <= block_size(), "a window of ", context.window,
                " tokens is outside 1 to model.block_size = ", block_size());
    return;
  }
  TORCH_CHECK(ids.size(1) <= block_size(), "T = ", ids.size(1),
              " tokens is more than model.block_size = ", block_size(), "; give at most the last ", block_size(),
              " tokens");
}

}  // namespace chargpt
