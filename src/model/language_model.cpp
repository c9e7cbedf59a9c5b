#include "model/language_model.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "base/random.h"
#include "model/attention.h"

namespace chargpt {

using torch::Tensor;

namespace {

std::uint64_t seed_of(const DropoutKey& key) {
  return derive_seed(key.seed, Purpose::dropout, static_cast<std::uint64_t>(key.step),
                     static_cast<std::uint32_t>(key.micro_batch));
}

}  // namespace

// ---- LanguageModel

std::int64_t LanguageModel::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

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

// ---- dropout

Tensor dropout_mask(torch::IntArrayRef shape, double rate, std::uint64_t seed, std::uint32_t layer,
                    std::int64_t first) {
  Tensor mask = at::empty(shape, at::kFloat);
  float* const values = mask.mutable_data_ptr<float>();
  const auto first_kept = static_cast<std::uint64_t>(std::ldexp(rate, 32));
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  at::parallel_for(0, mask.numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::uint32_t, 4> random{};
    for (std::int64_t i = begin; i < end; ++i) {
      const auto element = static_cast<std::uint64_t>(first + i), block = element / 4;
      if (i == begin || element % 4 == 0)
        random = philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), layer, 0}, key);
      values[i] = random[element % 4] >= first_kept ? kept : 0.0F;
    }
  });
  return mask;
}

void seed_dropout(const torch::Device& device, const DropoutKey& key) {
  if (device.is_cpu()) return;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed_of(key) + static_cast<std::uint64_t>(key.first_window));
}

Tensor ForwardPass::mask_of(const Tensor& x) const {
  return mask.defined() ? mask : causal_mask(x.size(-2), x.options());
}

Tensor ForwardPass::drop(const Tensor& x, double rate) {
  if (!drops(rate)) return x;
  if (!x.is_cpu()) return at::dropout(x, rate, /*train=*/true);
  const std::int64_t first = x.dim() > 0 && x.size(0) > 0 ? dropout->first_window * (x.numel() / x.size(0)) : 0;
  return x * dropout_mask(x.sizes(), rate, seed_of(*dropout), masks++, first).to(x.scalar_type());
}

}  // namespace chargpt
