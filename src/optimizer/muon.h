// Muon: momentum, then the nearest orthogonal matrix as the step, so that every direction of a matrix learns at one
// rate. Source: Jordan et al. (2024), "Muon: an optimizer for hidden layers in neural networks".
#pragma once

#include "optimizer/optimizer.h"

namespace chargpt {

/// One update of every matrix of the group, each of a stack by itself:
/// b = m b + (1 - m) g; u = (1 - m) g + m b; w -= rate * weight_decay * w + rate * sqrt(max(1, rows / cols)) * O(u),
/// with m the group's momentum and O five steps of orthogonalised(). On the CPU each thread takes whole matrices: the
/// same bits for any number of threads.
void muon(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

/// The same by the library's operations, equal shapes as one batch, on any device: what CUDA runs, and matrices that
/// outgrow the CPU's caches.
void muon_by_operations(ParameterGroup& group, std::int64_t step, const UpdateContext& context);

/// Each of a batch of matrices with its singular values brought near 1 (between about 0.7 and 1.2), by five steps of
/// Newton and Schulz, x -> a x + b (x x') x + c (x x')^2 x, from x / |x|. Shape: (k, r, c) -> the same; fastest with
/// r <= c.
torch::Tensor orthogonalised(const torch::Tensor& matrices);

}  // namespace chargpt
