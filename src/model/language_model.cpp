#include "model/language_model.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

namespace chargpt {

void KeyValueCache::extend_convolution(std::size_t index, const torch::Tensor& x, torch::Tensor& earlier) {
  if (convolution_inputs.size() <= index) convolution_inputs.resize(index + 1);
  torch::Tensor& held = convolution_inputs[index];
  if (held.defined()) earlier = held;
  const std::int64_t kept = earlier.size(1);
  held = at::cat({earlier, x}, 1).narrow(1, x.size(1), kept);
}

void KeyValueCache::keep_rows(const torch::Tensor& rows) {
  for (Layer& layer : layers) {
    layer.keys = layer.keys.index_select(0, rows);
    layer.values = layer.values.index_select(0, rows);
  }
  for (torch::Tensor& inputs : convolution_inputs) inputs = inputs.index_select(0, rows);
  if (last_ids.defined()) last_ids = last_ids.index_select(0, rows);
}

std::int64_t LanguageModel::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

void LanguageModel::check_input(const torch::Tensor& ids, const ForwardContext& context) const {
  TORCH_CHECK(ids.dim() == 2, "ids must be (B, T), not of ", ids.dim(), " dimensions");
  TORCH_CHECK(ids.scalar_type() == torch::kLong, "ids must be int64, not ", ids.scalar_type());
  TORCH_CHECK(ids.size(1) >= 1, "T = 0: a model needs at least one token");
  TORCH_CHECK(context.cache == nullptr || has_cache(), "model.type = ", config_.type, " keeps no key/value cache");
  if (context.window != 0) {
    TORCH_CHECK(can_slide(), "a sliding window needs model.position = rope or none");
    TORCH_CHECK(context.window >= 1 && context.window <= block_size(), "a window of ", context.window,
                " tokens is outside 1 to model.block_size = ", block_size());
    return;
  }
  const std::int64_t cached = context.cache != nullptr ? context.cache->length : 0;
  TORCH_CHECK(cached + ids.size(1) <= block_size(), "T = ", ids.size(1), " tokens after ", cached,
              " cached ones is more than model.block_size = ", block_size(), "; give at most the last ", block_size(),
              " tokens");
}

}  // namespace chargpt
