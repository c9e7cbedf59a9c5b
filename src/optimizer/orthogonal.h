// The nearest orthogonal matrix, roughly, on plain arrays, by the kernels' matmuls: Muon's step for one matrix. Knows
// no tensor and no thread.
#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace chargpt::cpu {

/// values (rows, columns) += factor O(u), O being u with its singular values brought near 1 (between about 0.7 and 1.2)
/// by five steps of Newton and Schulz, x -> a x + b (x x') x + c (x x')^2 x, from x = u / |u|. Works on the smaller
/// side n: with g = x x' and p = a + b g + c g g, an iteration makes x -> p x and g -> p g p, so that only the first g
/// and the last x cost more than n^3. `u` and `values` row-major; up to Kernels::slack floats behind u are read.
/// `scratch` grows as needed. A `u` of zeros changes nothing.
void add_orthogonalised(const Kernels& kernels, long rows, long columns, const float* u, double factor, float* values,
                        std::vector<float>& scratch);

}  // namespace chargpt::cpu
