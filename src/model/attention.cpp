#include "model/attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/softmax.h>

#include <limits>
#include <tuple>

namespace chargpt {

using at::indexing::None;
using at::indexing::Slice;
using torch::Tensor;

Tensor causal_mask(std::int64_t T, const torch::TensorOptions& options) {
  return at::full({T, T}, -std::numeric_limits<double>::infinity(), options).triu(1);
}

Tensor begins_of_documents(const Tensor& ids, std::int64_t document) {
  const Tensor places = at::arange(ids.size(1), ids.options()).expand_as(ids);
  return std::get<0>(places.masked_fill(ids != document, 0).cummax(1));
}

Tensor document_mask(const Tensor& begins, const torch::TensorOptions& options) {
  const std::int64_t T = begins.size(1);
  const Tensor before = at::arange(T, begins.options()) < begins.unsqueeze(-1);  // (B, queries, keys)
  return causal_mask(T, options).masked_fill(before, -std::numeric_limits<double>::infinity());
}

Attended scaled_dot_product(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double scale) {
  const Tensor scores = q.matmul(k.transpose(-2, -1)) * scale + mask;  // (..., n, d) x (..., d, m) -> (..., n, m)
  const Tensor weights = at::softmax(scores, -1);  // softmax subtracts the maximum of each row; -inf becomes 0
  return {weights.matmul(v), weights};             // (..., n, m) x (..., m, d_v) -> (..., n, d_v)
}

namespace {

/// 1 / base^(2i/width) for i < count. In double, because float32 angles are wrong by whole degrees at positions in the
/// thousands.
Tensor frequencies(std::int64_t count, std::int64_t width, double base) {
  return at::pow(base, at::arange(count, at::kDouble) * (-2.0 / static_cast<double>(width)));
}

}  // namespace

Tensor sinusoidal_table(std::int64_t positions, std::int64_t width, double base) {
  const Tensor angles = at::outer(at::arange(positions, at::kDouble), frequencies((width + 1) / 2, width, base));
  Tensor table = at::empty({positions, width}, at::kDouble);
  table.index_put_({Slice(), Slice(0, None, 2)}, angles.sin());
  table.index_put_({Slice(), Slice(1, None, 2)}, angles.slice(1, 0, width / 2).cos());
  return table.to(at::kFloat);
}

Tensor rotary_angles(std::int64_t positions, std::int64_t head_size, double base) {
  return at::outer(at::arange(positions, at::kDouble), frequencies(head_size / 2, head_size, base));
}

Tensor rotate_halves(const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  const auto halves = x.chunk(2, -1);  // (..., T, hs) -> 2 x (..., T, hs/2)
  return at::cat({halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines}, -1);
}

}  // namespace chargpt
