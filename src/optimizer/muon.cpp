#include "optimizer/muon.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/thread_team.h"
#include "optimizer/muon_polynomial.h"
#include "optimizer/orthogonal.h"

namespace chargpt {
namespace {

using torch::Tensor;

std::int64_t rows_of(const ParameterSlot& slot) {
  return slot.shape[0] / slot.stacked;
}

/// A slot's matrices, lying so that rows <= cols: views of `buffer`, (stacked, r, c).
Tensor lying(const Tensor& buffer, const ParameterSlot& slot) {
  const Tensor matrices = buffer.narrow(0, slot.offset, slot.numel).view({slot.stacked, rows_of(slot), slot.shape[1]});
  return matrices.size(1) > matrices.size(2) ? matrices.transpose(1, 2) : matrices;
}

double rate_of_shape(const ParameterSlot& slot) {
  return std::sqrt(std::max(1.0, static_cast<double>(rows_of(slot)) / static_cast<double>(slot.shape[1])));
}

using ShapeAndSlots = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const ParameterSlot*>>;

/// Slots by the shape of their lying matrices: equal ones are multiplied as one batch.
ShapeAndSlots by_shape(const ParameterGroup& group) {
  ShapeAndSlots shapes;
  for (const ParameterSlot& slot : group.slots) shapes[std::minmax({rows_of(slot), slot.shape[1]})].push_back(&slot);
  return shapes;
}

/// Moves the momentum on and shrinks the weights. Returns what is to be orthogonalised, Nesterov's look ahead, laid out
/// as the group, with `slack` floats behind it.
Tensor look_ahead(ParameterGroup& group, double rate, double gradient_scale, std::int64_t slack) {
  const double fresh = (1 - group.momentum) * gradient_scale;
  group.moment1.mul_(group.momentum).add_(group.gradients, fresh);
  const std::int64_t size = group.moment1.numel();
  Tensor ahead = at::empty({size + slack}, group.moment1.options());
  ahead.narrow(0, 0, size).copy_(group.moment1).mul_(group.momentum).add_(group.gradients, fresh);
  if (group.weight_decay > 0) group.values.mul_(1 - rate * group.weight_decay);
  return ahead;
}

struct Matrix {
  std::int64_t offset, rows, cols;
  double factor;
};

std::vector<Matrix> matrices_of(const ParameterGroup& group, double rate) {
  std::vector<Matrix> matrices;
  for (const ParameterSlot& slot : group.slots)
    for (std::int64_t i = 0; i < slot.stacked; ++i)
      matrices.push_back(
          {slot.offset + i * rows_of(slot) * slot.shape[1], rows_of(slot), slot.shape[1], -rate * rate_of_shape(slot)});
  return matrices;
}

/// The squares of a larger matrix are no longer in a core's caches, where the library's products are the faster ones.
bool fits_caches(const ParameterGroup& group) {
  constexpr std::int64_t largest_side = 512;
  return std::ranges::all_of(
      group.slots, [](const ParameterSlot& slot) { return std::min(rows_of(slot), slot.shape[1]) <= largest_side; });
}

void muon_on_cpu(ParameterGroup& group, const UpdateContext& context) {
  const double rate = group.learning_rate * context.lr_factor;
  const cpu::Kernels& kernels = cpu::kernels();
  const Tensor ahead = look_ahead(group, rate, context.gradient_scale, kernels.slack);
  const std::vector<Matrix> matrices = matrices_of(group, rate);
  const float* const u = ahead.const_data_ptr<float>();
  float* const values = group.values.mutable_data_ptr<float>();
  const int threads = std::min(at::get_num_threads(), static_cast<int>(matrices.size()));
  cpu::on_threads(threads, [&](int thread) {
    std::vector<float> scratch;
    for (std::size_t i = static_cast<std::size_t>(thread); i < matrices.size();
         i += static_cast<std::size_t>(threads)) {
      const Matrix& matrix = matrices[i];
      cpu::add_orthogonalised(kernels, matrix.rows, matrix.cols, u + matrix.offset, matrix.factor,
                              values + matrix.offset, scratch);
    }
  });
}

}  // namespace

Tensor orthogonalised(const Tensor& matrices) {
  const Tensor norm = at::linalg_vector_norm(matrices, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true);
  Tensor x = matrices / (norm + muon_eps);
  for (int step = 0; step < muon_steps; ++step) {
    const Tensor g = at::bmm(x, x.transpose(1, 2));         // (k, r, r)
    const Tensor p = at::baddbmm(g, g, g, muon_b, muon_c);  // b g + c g g
    x = at::baddbmm(x, p, x, muon_a);                       // a x + p x
  }
  return x;
}

void muon_by_operations(ParameterGroup& group, std::int64_t /*step*/, const UpdateContext& context) {
  const double rate = group.learning_rate * context.lr_factor;
  const Tensor ahead = look_ahead(group, rate, context.gradient_scale, 0);
  for (const auto& [shape, slots] : by_shape(group)) {
    std::vector<Tensor> matrices;
    for (const ParameterSlot* slot : slots) matrices.push_back(lying(ahead, *slot));
    const Tensor steps = orthogonalised(at::cat(matrices));  // (k, r, c)
    std::int64_t first = 0;
    for (const ParameterSlot* slot : slots) {
      lying(group.values, *slot).sub_(steps.narrow(0, first, slot->stacked), rate * rate_of_shape(*slot));
      first += slot->stacked;
    }
  }
}

void muon(ParameterGroup& group, std::int64_t step, const UpdateContext& context) {
  if (group.values.is_cpu() && fits_caches(group))
    muon_on_cpu(group, context);
  else
    muon_by_operations(group, step, context);
}

}  // namespace chargpt
