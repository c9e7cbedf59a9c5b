#include "compute/muon.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace chargpt {
namespace {

using torch::Tensor;

/// The polynomial's coefficients: chosen for the steepest slope at 0 that leaves singular values near 1.
constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
constexpr int newton_schulz_steps = 5;

/// b g + c g g, for symmetric g (k, r, r).
Tensor polynomial(const Tensor& g) {
  return at::baddbmm(g, g, g, b, c);
}

/// As defined: (k, r, c).
Tensor orthogonalise_directly(Tensor x) {
  for (int step = 0; step < newton_schulz_steps; ++step) {
    const Tensor p = polynomial(at::bmm(x, x.transpose(1, 2)));  // (k, r, r)
    x = at::baddbmm(x, p, x, a);                                 // a x + p x
  }
  return x;
}

/// The same by small matrices alone, for r well below c: with g = x x' and p = a + b g + c g g, a step makes x -> p x
/// and g -> p g p. All of them are polynomials of the first g, so they commute.
Tensor orthogonalise_by_gram(const Tensor& x) {
  Tensor g = at::bmm(x, x.transpose(1, 2)), product;  // (k, r, r)
  for (int step = 0; step < newton_schulz_steps; ++step) {
    Tensor p = polynomial(g);
    p.diagonal(0, 1, 2).add_(a);
    product = product.defined() ? at::bmm(p, product) : p;
    if (step + 1 < newton_schulz_steps) g = at::bmm(at::bmm(p, g), p);
  }
  return at::bmm(product, x);
}

/// A slot's matrices, lying so that rows <= cols: views of `buffer`, (stacked, r, c).
Tensor lying(const Tensor& buffer, const ParameterSlot& slot) {
  const Tensor matrices =
      buffer.narrow(0, slot.offset, slot.numel).view({slot.stacked, slot.shape[0] / slot.stacked, slot.shape[1]});
  return matrices.size(1) > matrices.size(2) ? matrices.transpose(1, 2) : matrices;
}

double rate_of_shape(const ParameterSlot& slot) {
  const double rows = static_cast<double>(slot.shape[0] / slot.stacked), cols = static_cast<double>(slot.shape[1]);
  return std::sqrt(std::max(1.0, rows / cols));
}

using ShapeAndSlots = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const ParameterSlot*>>;

/// Slots by the shape of their lying matrices: equal ones are multiplied as one batch.
ShapeAndSlots by_shape(const ParameterGroup& group) {
  ShapeAndSlots shapes;
  for (const ParameterSlot& slot : group.slots) {
    const std::int64_t rows = slot.shape[0] / slot.stacked, cols = slot.shape[1];
    shapes[{std::min(rows, cols), std::max(rows, cols)}].push_back(&slot);
  }
  return shapes;
}

/// The momentum, moved on, and what it is to orthogonalise: Nesterov's look ahead.
Tensor moved_momentum(ParameterGroup& group, double gradient_scale) {
  const double fresh = (1 - group.momentum) * gradient_scale;
  group.moment1.mul_(group.momentum).add_(group.gradients, fresh);
  return (group.moment1 * group.momentum).add_(group.gradients, fresh);
}

}  // namespace

Tensor orthogonalised(const Tensor& matrices) {
  const Tensor norm = at::linalg_vector_norm(matrices, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true);
  const Tensor x = matrices / (norm + 1e-7);
  // Squares of singular values need float32's digits, which products on a GPU may not have (TF32).
  const bool far_from_square = matrices.size(2) >= 2 * matrices.size(1);
  return x.is_cpu() && far_from_square ? orthogonalise_by_gram(x) : orthogonalise_directly(x);
}

void check_matrices(const ParameterGroup& group) {
  for (const ParameterSlot& slot : group.slots)
    if (slot.shape.size() != 2)
      throw Error(ExitCode::usage, "train.groups: \"" + group.name +
                                       "\" has optimizer = muon, which is for matrices; " + slot.name + " has " +
                                       std::to_string(slot.shape.size()) +
                                       " dimension(s); let the pattern match matrices only, as \"(attn|mlp).*weight\"");
}

void muon(ParameterGroup& group, std::int64_t /*step*/, const UpdateContext& context) {
  const double rate = group.learning_rate * context.lr_factor;
  const Tensor momentum = moved_momentum(group, context.gradient_scale);
  if (group.weight_decay > 0) group.values.mul_(1 - rate * group.weight_decay);
  for (const auto& [shape, slots] : by_shape(group)) {
    std::vector<Tensor> matrices;
    for (const ParameterSlot* slot : slots) matrices.push_back(lying(momentum, *slot));
    const Tensor steps = orthogonalised(at::cat(matrices));  // (k, r, c)
    std::int64_t first = 0;
    for (const ParameterSlot* slot : slots) {
      lying(group.values, *slot).sub_(steps.narrow(0, first, slot->stacked), rate * rate_of_shape(*slot));
      first += slot->stacked;
    }
  }
}

}  // namespace chargpt
