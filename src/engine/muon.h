// Muon: momentum, then the nearest orthogonal matrix as the step, so that every direction of a matrix learns at one
// rate. Source: Jordan et al. (2024), "Muon: an optimizer for hidden layers in neural networks".
#pragma once

#include <vector>

#include "engine/optimizer.h"
#include "kernels/kernels.h"

namespace chargpt {

/// One update of every matrix of the group, each of a stack by itself:
/// b = m b + (1 - m) g; u = (1 - m) g + m b; w -= rate * weight_decay * w + rate * sqrt(max(1, rows / cols)) * O(u),
/// with m the group's momentum and O as add_orthogonalised has it. Each thread takes whole matrices: the same bits
/// for any number of threads.
void muon(ParameterArena& arena, const ParameterGroup& group, const UpdateContext& context);

/// What the rate of updates of the parameter's matrices is multiplied by.
double rate_of_shape(const Parameter& parameter);

namespace cpu {

/// values (rows, columns) += factor O(u), O being u with its singular values brought near 1 (between about 0.7 and 1.2)
/// by five steps of Newton and Schulz, x -> a x + b (x x') x + c (x x')^2 x, from x = u / |u|. Works on the smaller
/// side n: with g = x x' and p = a + b g + c g g, an iteration makes x -> p x and g -> p g p, so that only the first g
/// and the last x cost more than n^3. `u` and `values` row-major; up to Kernels::slack floats behind u are read.
/// `scratch` grows as needed. A `u` of zeros changes nothing.
void add_orthogonalised(const Kernels& kernels, long rows, long columns, const float* u, double factor, float* values,
                        std::vector<float>& scratch);

}  // namespace cpu
}  // namespace chargpt
