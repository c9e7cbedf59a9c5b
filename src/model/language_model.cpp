#include "model/language_model.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>

#include "kernels/kernels.h"
#include "model/attention.h"

namespace chargpt {

using torch::Tensor;

// ---- LanguageModel

void LanguageModel::begin(const Tensor& ids, ForwardPass& pass) const {
  TORCH_CHECK(ids.dim() == 2, "ids must be (B, T), not of ", ids.dim(), " dimensions");
  TORCH_CHECK(ids.scalar_type() == torch::kLong, "ids must be int64, not ", ids.scalar_type());
  TORCH_CHECK(ids.size(1) >= 1, "T = 0: a model needs at least one token");
  TORCH_CHECK(ids.size(1) <= block_size(), "T = ", ids.size(1),
              " tokens is more than model.block_size = ", block_size(), "; give at most the last ", block_size(),
              " tokens");
  if (pass.document < 0) return;
  pass.document_begins = begins_of_documents(ids, pass.document);
  pass.mask = document_mask(pass.document_begins, torch::TensorOptions(ids.device()));
}

// ---- ForwardPass

void seed_dropout(const torch::Device& device, const ForwardPass& pass) {
  if (device.is_cpu() || !pass.dropout_seed) return;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(*pass.dropout_seed + static_cast<std::uint64_t>(pass.first_window));
}

Tensor ForwardPass::mask_of(const Tensor& x) const {
  return mask.defined() ? mask : causal_mask(x.size(-2), x.options());
}

Tensor ForwardPass::drop(const Tensor& x, double rate) {
  if (!drops(rate)) return x;
  if (!x.is_cpu()) return at::dropout(x, rate, /*train=*/true);
  const cpu::DropoutMask drawn = cpu::dropout_mask(rate, *dropout_seed, masks++);
  const std::int64_t first = first_window * (x.numel() / std::max<std::int64_t>(1, x.size(0)));
  const Tensor mask = at::ones(x.sizes(), at::kFloat);
  float* const values = mask.mutable_data_ptr<float>();
  at::parallel_for(0, mask.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    cpu::kernels().dropout(drawn, static_cast<std::uint64_t>(first + begin), 1, end - begin, values + begin, 0);
  });
  return x * mask.to(x.scalar_type());
}

}  // namespace chargpt
