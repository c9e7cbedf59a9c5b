#include "model/lazy_zeros.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include "base/zeroed_memory.h"

namespace chargpt {

torch::Tensor lazy_zeros(torch::IntArrayRef shape, const torch::Device& device) {
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(device);
  const std::int64_t numel = c10::multiply_integers(shape);
  if (!device.is_cpu() || numel == 0) return at::zeros(shape, options);
  const std::shared_ptr<void> memory = zeroed_memory(static_cast<std::size_t>(numel) * sizeof(float));
  return at::from_blob(
      memory.get(), shape, [memory](void*) {}, options);
}

}  // namespace chargpt
